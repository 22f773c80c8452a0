package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/internal/plain"
)

// words judges a text that people read, wherever it stands: what hides in it,
// what looks like markup, and how it presses.
func (l *linter) words(ptr string, n *node, what string) {
	s := n.text()
	if s == "" {
		return
	}
	l.hidden(ptr, n, what)
	if strings.IndexByte(s, '<') >= 0 && htmlTag.MatchString(s) {
		l.add("html", ptr, n.off, what+" has HTML")
	}
	if strings.ContainsAny(s, "*_`#[") && markdown.MatchString(s) {
		l.add("markup", ptr, n.off, what+" has Markdown")
	}
	if p := coercive(s); p != "" {
		l.add("coercive-wording", ptr, n.off, what+" presses the person: \""+p+"\"")
	}
}

// hidden finds what a reader cannot see. Joiners and marks that a script needs
// are left alone; package plain knows which.
func (l *linter) hidden(ptr string, n *node, what string) {
	_, found := plain.Text(n.str, len(n.str)+1)
	if found.Hidden > 0 {
		l.add("hidden-character", ptr, n.off, what+" has characters that are invisible or turn the direction of reading")
	}
	if found.Controls > 0 || found.Invalid > 0 {
		l.add("control-character", ptr, n.off, what+" has control characters or bytes that are no text")
	}
}

var (
	htmlTag  = regexp.MustCompile(`(?i)</?(a|b|i|u|p|br|hr|h[1-6]|em|ul|ol|li|td|tr|th|img|div|code|pre|font|form|span|style|table|input|script|iframe|button|strong|svg|details)(\s[^<>]*)?/?>|&(#\d{2,6}|#x[0-9a-f]{2,6}|nbsp|lt|gt|amp|quot);`)
	markdown = regexp.MustCompile("(?m)\\*\\*[^*\\s][^*]*\\*\\*|\\[[^\\]\n]+\\]\\([^)\\s]+\\)|^#{1,6} \\S|^```|`[^`\n]+`|\\b__[^_\\s][^_]*__\\b")
	// An address that programs make clickable. Bare names such as example.com
	// are left alone: people write them for what they are.
	address = regexp.MustCompile(`(?i)\b(https?|ftp)://[^\s<>"']|\bwww\.[a-z0-9-]+\.[a-z]{2}|\bjavascript:|\bdata:text/`)
)

func hasURL(s string) bool {
	return (strings.Contains(s, ":") || strings.Contains(s, "www") || strings.Contains(s, "WWW")) && address.MatchString(s)
}

// A phraseList finds phrases in words, without trying each on each text.
type phraseList map[string][][]string // by first word

func newPhraseList(phrases ...string) phraseList {
	l := phraseList{}
	for _, p := range phrases {
		ws := strings.Fields(p)
		l[ws[0]] = append(l[ws[0]], ws)
	}
	return l
}

func (l phraseList) find(ws []string) string {
	for i, w := range ws {
		for _, phrase := range l[w] {
			if len(phrase) <= len(ws)-i && slices.Equal(phrase, ws[i:i+len(phrase)]) {
				return strings.Join(phrase, " ")
			}
		}
	}
	return ""
}

// coercivePhrases are compared with the words of folded text.
var coercivePhrases = newPhraseList(
	"approve to continue", "approve this to continue", "accept to continue", "agree to continue", "confirm to continue", "allow to continue",
	"approve to proceed", "accept to proceed", "agree to proceed", "you must approve", "you must accept", "you must agree", "you must allow", "you must confirm",
	"you have to approve", "you have to accept", "you have to agree", "you have no choice", "do not decline", "don t decline", "never decline", "do not cancel", "don t cancel this",
	"or your account will", "or you will lose", "or lose access", "otherwise your account", "will be suspended", "will be terminated unless", "will be deleted unless", "will be locked unless",
	"failure to comply", "failure to respond will", "act now", "act immediately", "respond immediately", "final warning", "last chance", "approval is mandatory", "just click accept", "simply click accept", "always click accept", "click accept without",
	"zustimmen um fortzufahren", "bestatigen um fortzufahren", "sie mussen zustimmen", "sie mussen akzeptieren", "du musst zustimmen", "nicht ablehnen", "wird gesperrt",
	"accepter pour continuer", "vous devez accepter", "vous devez approuver", "ne refusez pas", "sera suspendu", "sera bloque",
	"aceptar para continuar", "acepte para continuar", "debe aceptar", "debes aceptar", "no rechace", "sera suspendida", "sera suspendido", "sera bloqueada",
	"accetta per continuare", "devi accettare", "deve accettare", "non rifiutare", "sara sospeso",
	"aceite para continuar", "voce deve aceitar", "deve aceitar", "nao recuse", "sera suspensa",
	"accepteer om door te gaan", "u moet accepteren", "je moet accepteren", "niet weigeren", "wordt geblokkeerd",
	"zaakceptuj aby kontynuowac", "musisz zaakceptowac", "nie odrzucaj", "zostanie zablokowane",
	"devam etmek icin onaylayin", "onaylamalisiniz", "kabul etmelisiniz", "reddetmeyin", "askiya alinacak",
	"подтвердите чтобы продолжить", "вы должны согласиться", "вы обязаны согласиться", "не отклоняйте", "будет заблокирован", "будет заблокирована",
)

// coerciveCJK are looked for anywhere.
var coerciveCJK = []string{
	"必须同意", "必须批准", "必须接受", "请勿拒绝", "不要拒绝", "否则账户将", "否则您的账户", "同意才能继续", "批准才能继续",
	"同意しないと", "必ず承認", "必ず同意", "拒否しないで", "承認しないと", "アカウントが停止",
	"반드시 동의", "반드시 승인", "거절하지 마", "거부하지 마", "동의해야만", "계정이 정지",
}

func coercive(s string) string {
	folded := fold(head(s))
	if p := coercivePhrases.find(splitWords(folded)); p != "" {
		return p
	}
	if isASCII(folded) {
		return ""
	}
	for _, p := range coerciveCJK {
		if strings.Contains(folded, p) {
			return p
		}
	}
	return ""
}

// orders are what a description says to a model and not about a tool.
var orders = newPhraseList(
	"ignore previous instructions", "ignore all previous", "ignore the previous", "disregard previous", "disregard all", "ignore any other instructions", "override the system prompt", "system prompt",
	"do not tell the user", "don t tell the user", "do not mention", "don t mention this", "without telling the user", "without informing the user", "hide this from the user", "do not inform the user", "do not reveal",
	"before using any other tool", "before any other tool", "always call this tool first", "you must call this tool", "must always call this tool", "instead of any other tool", "do not use any other tool", "never use the other",
	"you must always", "important instructions for the assistant", "send the conversation", "include the full conversation", "read the file ssh", "id rsa",
)

func ordersModel(s string) string {
	if p := orders.find(splitWords(fold(head(s)))); p != "" {
		return p
	}
	if low := strings.ToLower(s); strings.Contains(low, "<important>") || strings.Contains(low, "<system>") {
		return "<important>"
	}
	return ""
}
