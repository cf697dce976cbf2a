import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managerName } from './manager-name.ts'

test('who does not name himself is known by the first part of his user agent', () => {
  const cases: [string | undefined, string | undefined, string][] = [
    ['mine', 'kubectl/v1.36', 'mine'],
    ['', 'kubectl/v1.36.4 (linux/amd64)', 'kubectl'],
    [undefined, 'Go-http-client/2.0', 'Go-http-client'],
    ['', 'no slash at all', 'no slash at all'],
    ['', 'a\u0000b\tc\u00a0d/1', 'abcd'],
    ['', `${'x'.repeat(200)}/1`, 'x'.repeat(128)],
    ['', `${'é'.repeat(100)}/1`, 'é'.repeat(64)],
    ['', undefined, ''],
    ['', '', ''],
  ]
  for (const [fieldManager, userAgent, name] of cases) assert.equal(managerName(fieldManager, userAgent), name)
})
