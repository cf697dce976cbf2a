import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseGoUrl } from '#api/meta/go-url.ts'

test('URLs are split as Go splits them', () => {
  const none = { scheme: '', user: undefined, host: '', path: '', rawQuery: '', fragment: '' }
  const cases: [string, object][] = [
    ['https://u:p@h:8443/a%20b?q=1#f', { scheme: 'https', user: 'u:p', host: 'h:8443', path: '/a b', rawQuery: 'q=1', fragment: 'f' }],
    ['https://[::1]:443', { ...none, scheme: 'https', host: '[::1]:443' }],
    ['HTTPS://h', { ...none, scheme: 'https', host: 'h' }],
    ['/a/b', { ...none, path: '/a/b' }],
    ['//h/x', { ...none, host: 'h', path: '/x' }],
    ['mailto:x', { ...none, scheme: 'mailto' }],
    ['', none],
  ]
  for (const [text, parts] of cases) assert.deepEqual(parseGoUrl(text), parts, text)
})

test('what is no URL is refused in the words of Go', () => {
  const cases: [string, string][] = [
    [':x', 'parse ":x": missing protocol scheme'],
    ['1a:b', 'parse "1a:b": first path segment in URL cannot contain colon'],
    ['https://h:x/', 'parse "https://h:x/": invalid port ":x" after host'],
    ['https://a b/', 'parse "https://a b/": invalid character " " in host name'],
    ['https://h/%zz', 'parse "https://h/%zz": invalid URL escape "%zz"'],
    ['https://[::1', `parse "https://[::1": missing ']' in host`],
    ['https://h/\n', 'parse "https://h/\\n": net/url: invalid control character in URL'],
  ]
  for (const [text, message] of cases) assert.throws(() => parseGoUrl(text), { message }, text)
})
