package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type ofRueidislock struct {
	node rueidis.ClientOption
	// One for each TTL: a locker has one for all its locks.
	lockers map[time.Duration]rueidislock.Locker
	held    context.Context
	release context.CancelFunc
}

func (it *ofRueidislock) open(urls []string) error {
	node, err := rueidis.ParseURL(urls[0])
	it.node, it.lockers = node, map[time.Duration]rueidislock.Locker{}
	return err
}

func (it *ofRueidislock) locker(ttl time.Duration) (rueidislock.Locker, error) {
	if locker, isThere := it.lockers[ttl]; isThere {
		return locker, nil
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: it.node,
		// One key of one, and not two of three: the only one that somebody else can lock by a single key.
		KeyMajority: 1,
		KeyValidity: ttl,
		// It would extend by itself; here a lease must be able to end.
		ExtendInterval: time.Hour,
		// For how long a server is waited for. By default it is 20 ms, which a busy machine takes now and then.
		TryNextAfter: ttl / 2,
	})
	if err == nil {
		it.lockers[ttl] = locker
	}
	return locker, err
}

func (it *ofRueidislock) lock(key string, ttl time.Duration, tries int) (locked, error) {
	locker, err := it.locker(ttl)
	if err != nil {
		return locked{}, err
	}
	held, release, err := locker.TryWithContext(all, key)
	if errors.Is(err, rueidislock.ErrNotLocked) && tries > 1 {
		// It waits until a server tells it that the key has changed, for as long as several tries would take. A deadline
		// would shorten the lease as well.
		waits, stop := context.WithCancel(all)
		timer := time.AfterFunc(time.Duration(tries)*pause, stop)
		held, release, err = locker.WithContext(waits, key)
		if err == nil && !timer.Stop() {
			release()
			err = context.Canceled
		}
	}
	if errors.Is(err, rueidislock.ErrNotLocked) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	if err == nil {
		it.held, it.release = held, release
	}
	// The value is of any bytes, which no line can carry, and is not told anyway.
	return locked{}, err
}

func (it *ofRueidislock) unlock() error {
	lost := it.held.Err()
	it.release()
	if lost != nil {
		return fmt.Errorf("%w: %w", errGone, lost)
	}
	return nil
}

func (it *ofRueidislock) extend(time.Duration) error {
	return errors.New("it extends by itself, and not when it is asked to")
}

func main() { serve(&ofRueidislock{}) }
