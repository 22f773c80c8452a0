package browsertest

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/parley-mcp/parley/interop/stranger"
)

// axeTags are the rules that a page is held to: WCAG 2.2 level AA and what axe
// calls good practice.
const axeTags = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`

type axeReport struct {
	Passes   int
	Findings []struct {
		ID, Help string
		Nodes    []string
	}
}

// Axe checks the page, open shadow roots included, with axe-core and returns
// its findings, one "rule: help (element)" each. What axe cannot decide is not
// among them, so an empty list is no proof.
func (p *Page) Axe() []string {
	p.t.Helper()
	path, err := stranger.File("axe-core/axe.min.js")
	if err != nil {
		p.t.Fatalf("browsertest: %v", err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatalf("browsertest: %v", err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	// The protocol evaluates past the page's own policy, which a script
	// element would not.
	result, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: string(script) + "\n;undefined"})
	if err == nil {
		err = thrown(result.ExceptionDetails)
	}
	if err != nil {
		p.t.Fatalf("browsertest: loading axe: %v", err)
	}
	report := Eval[axeReport](p, `axe.run(document, {runOnly: `+axeTags+`}).then((r) => ({passes: r.passes.length, findings: r.violations.map((v) =>
		({id: v.id, help: v.help, nodes: v.nodes.map((n) => n.target.flat().join(' >> '))}))}))`)
	if report.Passes == 0 {
		p.t.Fatalf("browsertest: axe checked nothing")
	}
	var findings []string
	for _, finding := range report.Findings {
		findings = append(findings, fmt.Sprintf("%s: %s (%s)", finding.ID, finding.Help, strings.Join(finding.Nodes, ", ")))
	}
	return findings
}
