package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	googleschema "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-mcp/parley/bench/repo"
	"github.com/parley-mcp/parley/form"
)

const nodeName = "Ajv 8.20.0 with ajv-formats 3.0.1 (Node.js)"

var ours = local("Parley `form`", func(schema []byte) (func([]byte) error, error) {
	s, err := form.Parse(schema)
	if err != nil {
		return nil, err
	}
	return func(answer []byte) error { return s.Check(answer).Err() }, nil
})

var santhosh = local("santhosh-tekuri/jsonschema v6.0.3", func(schema []byte) (func([]byte) error, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///form.json", doc); err != nil {
		return nil, err
	}
	s, err := c.Compile("mem:///form.json")
	if err != nil {
		return nil, err
	}
	return func(answer []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
		if err != nil {
			return err
		}
		return s.Validate(value)
	}, nil
})

// google/jsonschema-go does not assert formats: it does less.
var google = local("google/jsonschema-go v0.4.3 (without formats)", func(schema []byte) (func([]byte) error, error) {
	var s googleschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return func(answer []byte) error {
		var value any
		if err := json.Unmarshal(answer, &value); err != nil {
			return err
		}
		return resolved.Validate(value)
	}, nil
})

// node is a running bench/node/check.mjs.
type node struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func (n *node) ask(line string, answer any) error {
	if _, err := io.WriteString(n.in, line+"\n"); err != nil {
		return err
	}
	text, err := n.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return json.Unmarshal(text, answer)
}

func (n *node) timed(what string, passes int) (time.Duration, error) {
	var ns int64
	err := n.ask(what+" "+strconv.Itoa(passes), &ns)
	return time.Duration(ns), err
}

func (n *node) close() error {
	return errors.Join(n.in.Close(), n.process.Wait())
}

func ajv(samples []sample) ([]bool, func([]sample, []int) (*validator, error), error) {
	dir, err := repo.Path("bench", "node")
	if err != nil {
		return nil, nil, err
	}
	n := &node{process: exec.Command("node", "check.mjs")}
	n.process.Dir = dir
	n.process.Stderr = os.Stderr
	if n.in, err = n.process.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err := n.process.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	n.out = bufio.NewReader(out)
	if err := n.process.Start(); err != nil {
		return nil, nil, err
	}
	texts := make([]map[string]string, len(samples))
	for i, s := range samples {
		texts[i] = map[string]string{"schema": string(s.schema), "answer": string(s.answer)}
	}
	line, err := json.Marshal(texts)
	if err != nil {
		return nil, nil, err
	}
	var refused []bool
	if err := n.ask(string(line), &refused); err != nil {
		return nil, nil, err
	}
	verdicts := make([]bool, len(refused))
	for i, r := range refused {
		verdicts[i] = !r
	}
	return verdicts, func(samples []sample, kept []int) (*validator, error) {
		var left int
		list := strings.ReplaceAll(fmt.Sprint(kept), " ", ",")
		if err := n.ask("keep "+list, &left); err != nil || left != len(samples) {
			return nil, fmt.Errorf("node kept %d samples: %w", left, err)
		}
		return &validator{
			name:    nodeName,
			check:   func(passes int) (time.Duration, error) { return n.timed("check", passes) },
			compile: func(passes int) (time.Duration, error) { return n.timed("compile", passes) },
			close:   n.close,
		}, nil
	}, nil
}
