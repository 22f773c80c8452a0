// What has changed of a tool since somebody last saw or allowed it. Both texts
// are the server's words: plain, and set apart from ours.

import { el, foreign, type Child } from '../lib/dom'
import { t, type Key } from '../lib/text'
import { visible } from '../lib/visible'
import type { ToolChange, ToolPart } from '../lib/wire'

export function changeNode(change: ToolChange | null | undefined, heading: Key): Child {
	if (!change) return null
	return el('div', { class: 'warning change', 'data-part': 'changed' },
		el('p', null, t(change.new ? 'change.new' : heading)),
		change.parts.map((part) => el('div', { 'data-change': part.part },
			el('p', null, el('strong', null, t(`change.${part.part}`))),
			part.before || part.after ? el('dl', { class: 'rows' }, line('change.before', part.before, part), line('change.after', part.after, part)) : null,
			part.cut ? el('p', { class: 'quiet' }, t('change.cut')) : null)))
}

function line(label: Key, text: string, part: ToolPart): Child {
	const words = part.part === 'description' ? foreign('p', visible(text)) : foreign('pre', visible(text))
	return el('div', null, el('dt', null, t(label)), el('dd', null, text === '' ? el('span', { class: 'quiet' }, t(part.cut ? 'change.unknown' : 'change.nothing')) : words))
}
