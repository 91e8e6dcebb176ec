package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

type ofRedsync struct {
	sync *redsync.Redsync
	held *redsync.Mutex
}

func (it *ofRedsync) open(urls []string) error {
	var pools []redis.Pool
	for _, url := range urls {
		client, err := connect(url)
		if err != nil {
			return err
		}
		pools = append(pools, goredis.NewPool(client))
	}
	it.sync = redsync.New(pools...)
	return nil
}

func (it *ofRedsync) mutex(key string, ttl time.Duration, further ...redsync.Option) *redsync.Mutex {
	options := []redsync.Option{
		redsync.WithExpiry(ttl),
		redsync.WithRetryDelay(pause),
		// Of the expiry, for an attempt. By default it is 50 ms of a second, which a busy machine takes now and then.
		redsync.WithTimeoutFactor(0.5),
	}
	return it.sync.NewMutex(key, append(options, further...)...)
}

func (it *ofRedsync) lock(key string, ttl time.Duration, tries int) (locked, error) {
	mutex := it.mutex(key, ttl, redsync.WithTries(tries))
	if err := mutex.Lock(); err != nil {
		if isTaken(err) || errors.Is(err, redsync.ErrFailed) {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return locked{}, err
	}
	it.held = mutex
	return locked{mutex.Value(), time.Until(mutex.Until())}, nil
}

func (it *ofRedsync) unlock() error {
	isReleased, err := it.held.Unlock()
	return orGone(isReleased, err)
}

func (it *ofRedsync) extend(ttl time.Duration) error {
	mutex := it.mutex(it.held.Name(), ttl, redsync.WithValue(it.held.Value()))
	isExtended, err := mutex.Extend()
	if isExtended {
		it.held = mutex
	}
	return orGone(isExtended, err)
}

func isTaken(err error) bool {
	var taken *redsync.ErrTaken
	var node *redsync.ErrNodeTaken
	return errors.As(err, &taken) || errors.As(err, &node)
}

func orGone(isDone bool, err error) error {
	switch {
	case isDone:
		return nil
	case isTaken(err), errors.Is(err, redsync.ErrLockAlreadyExpired), errors.Is(err, redsync.ErrExtendFailed):
		return fmt.Errorf("%w: %w", errGone, err)
	case err == nil:
		return fmt.Errorf("%w: it says no, and no more", errGone)
	default:
		return err
	}
}

func main() { serve(&ofRedsync{}) }
