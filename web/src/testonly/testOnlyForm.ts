// testOnlyForm draws a form without its card, for the tests in interop/vectors. It
// lies in a folder of its own, so that no bundle of web/dist holds it.

import { el, shadow } from '../lib/dom'
import type { View } from '../lib/wire'
import { Form, type FormOptions } from '../form/form'
import base from '../lib/base.css'
import css from '../form/form.css'

declare global {
	interface Window {
		/** Draws a form at the end of the main part, in place of one of the same name. */
		testOnlyForm: (view: View, options?: Partial<FormOptions>, name?: string) => Form
	}
}

window.testOnlyForm = (view, options, name = 'form') => {
	const host = el('section', { id: name, 'aria-label': name })
	const form = new Form({ view, server: 'desk', ...options })
	shadow(host, base, css).append(el('form', { noValidate: true }, form.node))
	document.getElementById(name)?.remove()
	document.querySelector('main')?.append(host)
	return form
}
