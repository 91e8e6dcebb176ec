// Reads requests and writes answers: the protocol of README.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// library is what a shim is made of. A lock that it has is kept inside.
type library interface {
	open(urls []string) error
	lock(key string, ttl time.Duration, tries int) (locked, error)
	unlock() error
	extend(ttl time.Duration) error
}

// locked is what a library tells of its lock; what it does not tell is empty.
type locked struct {
	value    string
	validity time.Duration
}

// errRefused is wrapped by an error that says that somebody else has the lock.
var errRefused = errors.New("refused")

// errGone is wrapped by an error that says that the lock had ended before.
var errGone = errors.New("gone")

// Between two tries.
const pause = 10 * time.Millisecond

// connect makes a client that fails at once where a node is away.
func connect(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1
	options.DialerRetries = 1
	return redis.NewClient(options), nil
}

func serve(it library) {
	if words := os.Args[1:]; len(words) > 2 && words[0] == "cycles" {
		if err := measure(it, words[1], words[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "quit" {
			return
		}
		fmt.Println(strings.ReplaceAll(answer(it, words[0], words[1:]), "\n", " "))
	}
}

func answer(it library, request string, words []string) string {
	told, err := ask(it, request, words)
	switch {
	case err == nil:
		return told
	case errors.Is(err, errRefused):
		return fmt.Sprintf("refused %v", err)
	case errors.Is(err, errGone):
		return fmt.Sprintf("gone %v", err)
	default:
		return fmt.Sprintf("failed %T: %v", err, err)
	}
}

func ask(it library, request string, words []string) (string, error) {
	switch {
	case request == "open":
		return "ready", it.open(words)
	case request == "lock" && len(words) == 3:
		ttl, err := millis(words[1])
		if err != nil {
			return "", err
		}
		tries, err := strconv.Atoi(words[2])
		if err != nil {
			return "", err
		}
		got, err := it.lock(words[0], ttl, tries)
		if err != nil {
			return "", err
		}
		value, validity := "?", "?"
		if got.value != "" {
			value = got.value
		}
		if got.validity > 0 {
			validity = strconv.FormatInt(got.validity.Milliseconds(), 10)
		}
		return "locked " + value + " " + validity, nil
	case request == "unlock":
		return "unlocked", it.unlock()
	case request == "extend" && len(words) == 1:
		ttl, err := millis(words[0])
		if err != nil {
			return "", err
		}
		return "extended", it.extend(ttl)
	default:
		return "", fmt.Errorf("there is no request %s with %d words", request, len(words))
	}
}

func millis(word string) (time.Duration, error) {
	number, err := strconv.ParseInt(word, 10, 64)
	return time.Duration(number) * time.Millisecond, err
}

// measure locks and unlocks new keys, and prints what each cycle took, in microseconds. The first tenth warms up.
func measure(it library, times string, urls []string) error {
	count, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	if err := it.open(urls); err != nil {
		return err
	}
	for number := -count / 10; number < count; number++ {
		started := time.Now()
		if _, err := it.lock(fmt.Sprintf("lone:%d", started.UnixNano()), 10*time.Second, 1); err != nil {
			return err
		}
		if err := it.unlock(); err != nil {
			return err
		}
		if number >= 0 {
			fmt.Println(time.Since(started).Microseconds())
		}
	}
	return nil
}

// all is a context without an end.
var all = context.Background()
