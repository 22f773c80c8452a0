// Pieces that question cards share.

import { el, foreign, type Child } from '../lib/dom'
import { at, has, rich, t, when } from '../lib/text'
import type { Finding, Question, ReviewRow } from '../lib/wire'

const longMessage = 2_000 // characters before "Show all"

/** place says where a server runs: "this computer", or its host. */
export function place(server: { server_local: boolean; server_address?: string }): string {
	return server.server_local ? t('who.local') : server.server_address ?? ''
}

/** heading is who asks: the name that the person running Parley gave, never the server's own title. */
export function heading(question: Question, id: string): HTMLElement {
	const where = place(question)
	const ended = !(question.state === 'open' || question.state === 'opened')
	const key = where ? (ended ? 'card.asked.at' : 'card.asks.at') : ended ? 'card.asked' : 'card.asks'
	return el('h3', { id, tabIndex: -1, 'data-part': 'heading' }, rich(key, { server: question.server, place: where }))
}

/** message is the server's text: plain, whole, in its own direction. */
export function message(question: Question): Child[] {
	const text = question.message
	if (text === '') return []
	const findings = question.message_findings ?? []
	const notes = findings.map((finding: Finding | string) => el('p', { class: 'hint mark' }, typeof finding === 'string' ? finding : finding.text))
	const characters = [...text]
	if (characters.length <= longMessage) return [foreign('div', text, 'message'), notes]
	const body = foreign('div', `${characters.slice(0, longMessage).join('')}…`, 'message')
	const more = el('button', {
		type: 'button', class: 'link', on: {
			click: () => {
				body.textContent = text
				more.remove()
				body.tabIndex = -1
				body.focus()
			},
		},
	}, t('card.show-all', { n: characters.length }))
	return [body, more, notes]
}

/** brief is the tool and the start of the message, for names that are only heard. */
export function brief(question: Question): string {
	const line = [...`${question.tool_title || question.tool}: ${question.message}`.trim().replace(/\s+/g, ' ')]
	return line.length > 80 ? `${line.slice(0, 80).join('')}…` : line.join('')
}

/** rows is a list of labels and values, as it will be sent or was sent. */
export function rows(list: readonly ReviewRow[], server: string): HTMLElement {
	return el('dl', { class: 'rows' }, list.map((row) => el('div', null,
		el('dt', null, el('span', { class: 'foreign', dir: 'auto' }, row.label || row.name || '')),
		el('dd', null, row.value === '' ? el('span', { class: 'quiet' }, t('review.empty')) : foreign('span', row.value),
			row.from === 'default' ? el('span', { class: 'from' }, server ? rich('review.default', { server }) : t('review.default.argument')) : null,
			row.from === 'earlier' ? el('span', { class: 'from' }, t('review.earlier')) : null),
	)))
}

/** count is "1 of 2" for a round with several questions. */
export function count(question: Question): string {
	return question.of > 1 ? t('card.count', { i: question.position, of: question.of }) : ''
}

/** deadline says until when the question is open. */
export function deadline(question: Question): Child {
	return question.expires_at ? el('p', { class: 'hint' }, t('card.until', { when: when(question.expires_at) })) : null
}

/** outcome is the sentence of a closed question. */
export function outcome(question: Question): Child[] {
	const { answer, server, state } = question
	const moment = at(answer?.at)
	const via = answer && has(`via.${answer.via}`) ? t(`via.${answer.via}` as 'via.chat') : ''
	switch (state) {
		case 'accepted':
			if (question.closed_by === 'server') return rich('record.completed', { server, domain: question.url?.domain || question.url?.host || '', at: at(question.completed_at) })
			if (question.mode === 'url') return rich('record.opened', { domain: question.url?.domain || question.url?.host || '', at: moment, via })
			return rich(answer?.review?.length ? 'record.sent' : 'record.agreed', { server, at: moment, via })
		case 'declined': return rich('record.declined', { server, at: moment, via })
		case 'cancelled': return rich('record.cancelled', { server, at: moment, via })
		case 'expired': return rich('record.expired', { at: when(question.expires_at) })
		case 'withdrawn': {
			const key = `closed.${question.closed_by ?? ''}`
			return has(key) ? rich(key, { server }) : rich('record.withdrawn', { server })
		}
		default: return []
	}
}

/** completed says that the server takes the person to be done at its address. It is no answer of theirs. */
export function completed(question: Question): Child {
	return el('p', { class: 'note', 'data-part': 'completed' }, rich('link.completed', { server: question.server }))
}

/** actionsHelp explains the four ways out. */
export function actionsHelp(question: Question): HTMLElement {
	const { server } = question
	const line = (name: Child, text: Child): HTMLElement => el('div', null, el('dt', null, name), el('dd', null, text))
	return el('details', { class: 'help' }, el('summary', null, t('help.title')), el('dl', { class: 'rows' },
		line(t('action.decline'), rich('help.decline', { server })),
		line(t('action.cancel'), rich('help.cancel', { server })),
		line(t('action.later'), t('help.later')),
	))
}

/** quoted makes an address harmless to look at: everything outside of printable ASCII is written as its number. */
export function quoted(text: string): string {
	return text.replace(/[^\x20-\x7e]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16).toUpperCase() ?? ''}}`)
}

