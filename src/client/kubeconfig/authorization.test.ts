import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files } from '#base/files.ts'
import { authorizationOf } from '#client/kubeconfig/authorization.ts'
import type { KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'

const files = {
  async readText(path: string) {
    if (path !== '/token') throw new Error(`ENOENT ${path}`)
    return 'from-file\n'
  },
} as Files

const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
const cases: [user: KubeconfigUser, header: string | undefined][] = [
  [{}, undefined],
  [{ token: 'given' }, 'Bearer given'],
  [{ tokenFile: '/token' }, 'Bearer from-file'],
  [{ token: 'given', tokenFile: '/token' }, 'Bearer from-file'],
  [{ token: 'given', tokenFile: '/gone' }, 'Bearer given'],
  [{ username: 'me', password: 'secret' }, basic],
]
for (const [user, header] of cases) {
  test(`a user with ${Object.keys(user).join(' and ') || 'nothing'} (${JSON.stringify(user)}) sends ${header}`, async () =>
    assert.equal(await authorizationOf(user, files), header))
}

test('a password and a token together are refused, as is a file that cannot be read', async () => {
  await assert.rejects(
    authorizationOf({ username: 'me', token: 'given' }, files),
    /^Error: username\/password or bearer token may be set, but not both$/,
  )
  await assert.rejects(authorizationOf({ tokenFile: '/gone' }, files), /ENOENT/)
})
