package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"runtime"
	"time"

	"github.com/parley-mcp/parley/bench/report"
	"github.com/parley-mcp/parley/internal/seal"
)

// measureSeal compares sealing and opening 1 KiB with the same by AES-GCM of
// the standard library.
func measureSeal(flags report.Flags) (report.Table, error) {
	plaintext := make([]byte, 1024)
	rand.Read(plaintext)
	context := []string{"audience", "issuer", "tenant", "subject", "tools/call", "book", "digest of arguments"}
	ring := seal.NewRing()
	sealing := func() error {
		opened, err := ring.Open("bench", context, ring.Seal("bench", context, plaintext))
		if err == nil && !bytes.Equal(opened, plaintext) {
			err = errors.New("another text was opened")
		}
		return err
	}
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return report.Table{}, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return report.Table{}, err
	}
	data := []byte("bench audience issuer tenant subject tools/call book digest of arguments")
	plain := func() error {
		nonce := make([]byte, gcm.NonceSize(), gcm.NonceSize()+len(plaintext)+gcm.Overhead())
		rand.Read(nonce)
		sealed := gcm.Seal(nonce, nonce, plaintext, data)
		opened, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], data)
		if err == nil && !bytes.Equal(opened, plaintext) {
			err = errors.New("another text was opened")
		}
		return err
	}
	turns, times := 15, 20_000
	if flags.Smoke {
		turns, times = 1, 1
	}
	timed := func(one func() error) (float64, error) {
		runtime.GC()
		start := report.Processor()
		for range times {
			if err := one(); err != nil {
				return 0, err
			}
		}
		return float64(report.Processor()-start) / float64(times), nil
	}
	var a, b, ratios []float64
	for range turns {
		x, err := timed(plain)
		if err != nil {
			return report.Table{}, err
		}
		y, err := timed(sealing)
		if err != nil {
			return report.Table{}, err
		}
		a, b, ratios = append(a, x), append(b, y), append(ratios, y/x)
	}
	us := func(list []float64) string {
		return time.Duration(report.Median(list)).Round(10 * time.Nanosecond).String()
	}
	return report.Table{
		Title: "Seal and open 1 KiB",
		Head:  []string{"", "processor time, AES-GCM = 1", "processor time"},
		Rows: [][]string{
			{"crypto/cipher, AES-256-GCM with a random nonce", "1", us(a)},
			{"`internal/seal` (Tink, XChaCha20-Poly1305)", report.Times(report.Median(ratios)), us(b)},
		},
	}, nil
}
