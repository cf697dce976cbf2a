import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { webhookCredentials } from '#apiserver/webhooks/webhook-credentials.ts'
import { nodeFiles } from '#base/files.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('the user whose name fits the host best is shown', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'credentials-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'token'), 'from-file\n')
  const path = join(directory, 'kubeconfig')
  writeFileSync(
    path,
    `users:
- {name: 'hook.ns.svc', user: {token: exact}}
- {name: 'hook.ns.svc:8443', user: {username: u, password: p}}
- {name: '*.ns.svc', user: {tokenFile: token}}
- {name: '*', user: {client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}}
`,
  )
  const credentialsFor = webhookCredentials(nodeFiles, path)
  const headerAt = async (host: string) => (await credentialsFor(host))?.headers['authorization']
  assert.equal(await headerAt('hook.ns.svc:443'), 'Bearer exact')
  assert.equal(await headerAt('hook.ns.svc:8443'), `Basic ${base64('u:p')}`)
  assert.equal(await headerAt('other.ns.svc:443'), 'Bearer from-file')
  assert.equal(await headerAt('other.ns.svc:444'), undefined)
  assert.deepEqual(await credentialsFor('elsewhere.example.com:443'), { connection: { cert: 'CERT', key: 'KEY' }, headers: {} })
})

test('a file that is not there is told, and looked for again', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'credentials-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'kubeconfig')
  const credentialsFor = webhookCredentials(nodeFiles, path)
  await assert.rejects(credentialsFor('a:443'), /ENOENT/)
  writeFileSync(path, 'users: [{name: me, user: {token: t}}]\ncontexts: [{name: c, context: {user: me}}]\ncurrent-context: c\n')
  assert.deepEqual(await credentialsFor('a:443'), { connection: {}, headers: { authorization: 'Bearer t' } })
})
