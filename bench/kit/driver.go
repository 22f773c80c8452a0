package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/bench/repo"
)

const (
	meta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"driver","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	first   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","arguments":{"to":"Oslo"},` + meta + `}}`
	answers = `"inputResponses":{"pick":{"action":"accept","content":{"flight":"PY202","bags":2}}}`
)

// A server is one process under measurement.
type server struct {
	role, gogc string
	process    *exec.Cmd
	stdin      io.Closer
	url        string // without a path
}

func start(role, gogc string, recorded [2]reply) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(recorded)
	if err != nil {
		return nil, err
	}
	s := &server{role: role, gogc: gogc, process: exec.Command(program)}
	if role == typescript {
		file, err := repo.Path("bench", "node", "server.mjs")
		if err != nil {
			return nil, err
		}
		s.process = exec.Command("node", file)
	}
	form, err := json.Marshal(map[string]any{"message": message, "schema": json.RawMessage(schema), "state": plainState})
	if err != nil {
		return nil, err
	}
	s.process.Env = append(os.Environ(), roleEnv+"="+role, recordedEnv+"="+string(text), "PARLEY_BENCH_FORM="+string(form), "GOGC="+gogc)
	s.process.Stderr = os.Stderr
	if s.stdin, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", role, err)
	}
	s.url = "http://" + strings.TrimSpace(address)
	return s, nil
}

func (s *server) stop() error {
	s.stdin.Close()
	return s.process.Wait()
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

// post sends one request of a call and returns the body of its response.
func (s *server) post(body []byte) (reply, error) {
	req, err := http.NewRequest(http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	req.Header["Mcp-Protocol-Version"] = []string{"2026-07-28"}
	req.Header["Mcp-Method"] = []string{"tools/call"}
	req.Header["Mcp-Name"] = []string{"book"}
	response, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	if response.StatusCode != http.StatusOK {
		return reply{}, fmt.Errorf("%s: HTTP %d %s", s.role, response.StatusCode, text)
	}
	return reply{response.Header.Get("Content-Type"), text}, nil
}

// call makes one call of two rounds and returns what came back.
func (s *server) call() ([2]reply, error) {
	asked, err := s.post([]byte(first))
	if err != nil {
		return [2]reply{}, err
	}
	_, rest, ok := bytes.Cut(asked.Body, []byte(`"requestState":`))
	if !ok || !bytes.Contains(asked.Body, []byte(`"input_required"`)) {
		return [2]reply{}, fmt.Errorf("%s does not ask: %s", s.role, asked.Body)
	}
	state := rest[:bytes.IndexByte(rest[1:], '"')+2] // no state here has an escape
	retry := slices.Concat([]byte(first[:len(first)-2]), []byte(","+answers+`,"requestState":`), state, []byte("}}"))
	done, err := s.post(retry)
	if err != nil {
		return [2]reply{}, err
	}
	if !bytes.Contains(done.Body, []byte(`"structuredContent":{"flight":"PY202","bags":2}`)) && !bytes.Contains(done.Body, []byte(`"structuredContent":{"bags":2,"flight":"PY202"}`)) {
		return [2]reply{}, fmt.Errorf("%s does not book: %s", s.role, done.Body)
	}
	return [2]reply{asked, done}, nil
}

func (s *server) usage(collect bool) (usage, error) {
	url := s.url + "/usage"
	if collect {
		url += "?collect"
	}
	response, err := client.Get(url)
	if err != nil {
		return usage{}, err
	}
	defer response.Body.Close()
	var u usage
	return u, json.NewDecoder(response.Body).Decode(&u)
}

// resident is how much memory the process takes, in bytes.
func (s *server) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of %s", s.role)
}

// segment is what one turn of a server measured.
type segment struct {
	calls     int
	perSecond float64
	processor time.Duration // per call
	allocated float64       // bytes per call
	latencies []time.Duration
	resident  float64
}

// drive makes calls from several workers for some time, at least one each.
func (s *server) drive(workers int, length time.Duration) (segment, error) {
	before, err := s.usage(false)
	if err != nil {
		return segment{}, err
	}
	began := time.Now()
	var wait sync.WaitGroup
	lists := make([][]time.Duration, workers)
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			for {
				start := time.Now()
				if _, errs[w] = s.call(); errs[w] != nil {
					return
				}
				lists[w] = append(lists[w], time.Since(start))
				if time.Since(began) >= length {
					return
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	if err := cmp.Or(errs...); err != nil {
		return segment{}, err
	}
	after, err := s.usage(false)
	if err != nil {
		return segment{}, err
	}
	g := segment{latencies: slices.Concat(lists...)}
	g.calls = len(g.latencies)
	g.perSecond = float64(g.calls) / took.Seconds()
	g.processor = (after.Processor - before.Processor) / time.Duration(g.calls)
	g.allocated = float64(after.Allocated-before.Allocated) / float64(g.calls)
	g.resident, err = s.resident()
	return g, err
}
