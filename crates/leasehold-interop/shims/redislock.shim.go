package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
)

type ofRedislock struct {
	client *redislock.Client
	held   *redislock.Lock
}

func (it *ofRedislock) open(urls []string) error {
	client, err := connect(urls[0])
	if err != nil {
		return err
	}
	it.client = redislock.New(client)
	return nil
}

func (it *ofRedislock) lock(key string, ttl time.Duration, tries int) (locked, error) {
	retry := redislock.LimitRetry(redislock.LinearBackoff(pause), tries-1)
	held, err := it.client.Obtain(all, key, ttl, &redislock.Options{RetryStrategy: retry})
	if err != nil {
		if errors.Is(err, redislock.ErrNotObtained) {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return locked{}, err
	}
	it.held = held
	return locked{value: held.Token()}, nil
}

func (it *ofRedislock) unlock() error {
	err := it.held.Release(all)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

func (it *ofRedislock) extend(ttl time.Duration) error {
	err := it.held.Refresh(all, ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

func main() { serve(&ofRedislock{}) }
