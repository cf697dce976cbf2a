import assert from 'node:assert/strict'
import { validateHeaderValue } from 'node:http'
import { test } from 'node:test'
import { RequestContext } from '#apiserver/http/context.ts'

const contextOf = () => new RequestContext({} as never, {} as never, new URLSearchParams(), { name: '', groups: [], extra: {} })

test('warnings are headers that can be sent: in UTF-8, and without those that upstream leaves out', () => {
  const context = contextOf()
  const texts = ['unknown field "a"', 'unknown field "ä"', 'unknown field "猫\u{1f408}"', '\ud800']
  const notSent = ['unknown field "a\u0001"', 'two\r\nlines', 'a\u007f', 'a\u0085', '']
  for (const text of [...notSent, ...texts]) context.warn(text)
  const headers = context.warningHeaders()
  for (const header of headers) validateHeaderValue('warning', header)
  assert.deepEqual(
    headers.map((header) => Buffer.from(header, 'latin1').toString()),
    ['299 - "unknown field \\"a\\""', '299 - "unknown field \\"ä\\""', '299 - "unknown field \\"猫\u{1f408}\\""', '299 - "\ufffd"'],
  )
})
