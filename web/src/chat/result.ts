// What came of a call. A result is a stranger's data: text is shown as plain
// text, and nothing that it points to is fetched.

import { el, foreign, bdi, type Child } from '../lib/dom'
import { pretty } from '../lib/json'
import { rich, t, type Key } from '../lib/text'

/** mostBlocks is how many parts of a list are drawn: a server may send very many. */
export const mostBlocks = 200

type Row = { readonly [name: string]: unknown }

/** result draws a CallToolResult, a prompt or a resource. */
export function result(value: unknown, server: string): Child[] {
	if (!isRow(value)) return []
	const blocks: Child[] = []
	const failed = value['isError'] === true
	if (failed) blocks.push(el('p', { class: 'verdict bad', 'data-part': 'tool-error' }, rich('result.error', { server })))
	const content = [...list(value['content']), ...list(value['contents']), ...list(value['messages']).map((one) => isRow(one) ? one['content'] : one)]
	const shown = content.slice(0, mostBlocks)
	for (const item of shown) blocks.push(contentBlock(item))
	if (content.length > shown.length) blocks.push(el('p', { class: 'quiet', 'data-part': 'more' }, t('result.more', { n: content.length - shown.length })))
	const structured = value['structuredContent']
	if (content.length === 0 && structured === undefined) blocks.push(el('p', { class: 'quiet' }, rich('result.empty', { server })))
	// Servers repeat structured content as text for older clients; once is enough.
	const repeated = structured !== undefined && shown.some((item) => isRow(item) && item['type'] === 'text' && sameJSON(item['text'], structured))
	if (structured !== undefined && !repeated) blocks.push(details('result.structured', structured, content.length === 0))
	blocks.push(details('result.raw', value, false))
	return blocks
}

/** details is a block of JSON that is written out when it is opened. */
export function details(key: Key, value: unknown, open: boolean): HTMLElement {
	const pre = el('pre', { dir: 'ltr', tabIndex: 0 })
	const write = (): void => { if (node.open && pre.textContent === '') pre.textContent = pretty(value) }
	const node = el('details', { open, class: 'json', 'data-part': key, on: { toggle: write } }, el('summary', null, t(key)), pre)
	write()
	return node
}

function contentBlock(item: unknown): Child {
	if (!isRow(item)) return null
	const uri = text(item['uri'])
	switch (item['type']) {
		case 'text': return textBlock(text(item['text']))
		case 'image':
		case 'audio': return named(item['type'] === 'image' ? 'result.image' : 'result.audio', text(item['mimeType']), size(item['data']))
		case 'resource_link': return named('result.link', text(item['title']) || text(item['name']) || uri, uri)
		case 'resource': return resource(item['resource'])
	}
	if (typeof item['text'] === 'string' && uri) return resource(item) // a resource that was read
	return named('result.other', text(item['type']) || '?', '')
}

function resource(value: unknown): Child {
	if (!isRow(value)) return null
	const uri = text(value['uri'])
	if (typeof value['text'] === 'string') return [named('result.resource', uri, ''), textBlock(value['text'])]
	return named('result.resource', uri, [text(value['mimeType']), size(value['blob'])].filter(Boolean).join(', '))
}

function textBlock(value: string): HTMLElement {
	const long = value.length > 4_000
	const body = foreign('div', value, 'result-text')
	if (!long) return body
	return el('details', { class: 'long' }, el('summary', null, t('result.long', { n: value.length })), body)
}

function named(key: Key, name: string, extra: string): HTMLElement {
	return el('p', { class: 'attachment' }, rich(key, { name }), extra ? [' (', bdi(extra), ')'] : null)
}

function size(base64: unknown): string {
	if (typeof base64 !== 'string') return ''
	return t('result.bytes', { n: Math.floor(base64.length * 3 / 4) })
}

function text(value: unknown): string {
	return typeof value === 'string' ? value : ''
}

function list(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value as unknown[] : []
}

export function isRow(value: unknown): value is Row {
	return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sameJSON(source: unknown, value: unknown): boolean {
	if (typeof source !== 'string') return false
	try {
		return JSON.stringify(JSON.parse(source)) === JSON.stringify(value)
	} catch {
		return false
	}
}
