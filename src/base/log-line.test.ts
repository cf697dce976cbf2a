import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logLine } from '#base/log-line.ts'

test('what a client sends does nothing to the terminal that a log is read in', () => {
  const fields = { path: '/\u001b[2J', user: 'a b\u009b2J\u007f', list: ['\u001b'] }
  const line = logLine({ timeMs: 0, level: 'info', component: 'apiserver', message: 'done\u001b[1m', fields }, false)
  assert.match(line, / done\\u001b\[1m {2}path=\/\\u001b\[2J user="a b\\u009b2J\\u007f" list=/)
  assert.doesNotMatch(line, /\p{Cc}/u)
})
