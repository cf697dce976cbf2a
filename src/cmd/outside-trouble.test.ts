import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outsideTrouble } from '#cmd/outside-trouble.ts'

test('a full disk is named by the directory of the cluster', () => {
  const full = new Error('nothing was written: database or disk is full')
  for (const error of [full, new Error('no cluster', { cause: full }), { code: 'ENOSPC' }])
    assert.equal(outsideTrouble(error, { dataDir: '/data' }), '--data-dir: the disk of /data is full')
  assert.equal(outsideTrouble(full, {}), 'the disk is full')
})

for (const [error, said] of [
  [{ code: 'ENOENT', path: '/a' }, '--token-auth-file: there is no file /a'],
  [{ code: 'EISDIR', path: '/b' }, '--service-account-key-file: /b is a directory'],
  [{ code: 'EACCES', path: '/c' }, 'no permission for /c'],
  [{ code: 'ENOENT', path: '/a.123.0.draft' }, '--token-auth-file: cannot write to /a: there is no such directory'],
  [{ code: 'ENOSPC', path: '/c' }, 'the disk of /c is full'],
  [{ code: 'ENOSPC' }, 'the disk is full'],
  [
    { code: 'ECONNREFUSED', address: '127.0.0.1', port: 6443 },
    'nobody answers at 127.0.0.1:6443; does the cluster run? See typernetes list',
  ],
  [{ code: 'EINVAL', path: '/a' }, undefined],
  [new Error('else'), undefined],
] as const) {
  test(`trouble: ${JSON.stringify(error)}`, () => {
    assert.equal(outsideTrouble(error, { tokenAuthFile: '/a', serviceAccountKeyFile: ['/x', '/b'], nodes: 1 }), said)
  })
}
