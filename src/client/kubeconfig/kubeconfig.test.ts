import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files } from '#base/files.ts'
import { Kubeconfig } from '#client/kubeconfig/kubeconfig.ts'

/** Files that are only texts. */
function filesOf(texts: Record<string, string>): Files {
  const readTextIfPresent = async (path: string) => texts[path]
  return {
    readTextIfPresent,
    async readText(path: string) {
      const text = texts[path]
      if (text === undefined) throw new Error(`ENOENT ${path}`)
      return text
    },
  } as Files
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

const main = `
apiVersion: v1
kind: Config
current-context: second
clusters:
- name: one
  cluster: { server: 'https://one:6443', certificate-authority: pki/ca.crt, tls-server-name: kubernetes }
- name: two
  cluster: { server: 'https://two:6443', certificate-authority-data: ${base64('AUTHORITY')} }
- name: three
  cluster: { server: 'https://three:6443', insecure-skip-tls-verify: true }
users:
- name: by-files
  user: { client-certificate: /abs/client.crt, client-key: client.key }
- name: by-data
  user: { client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')} }
- name: by-token
  user: { token: abc }
- name: by-token-file
  user: { tokenFile: token }
- name: by-password
  user: { username: me, password: secret }
- name: by-program
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--cluster, one]
      env: [{ name: REGION, value: north }]
      provideClusterInfo: true
      installHint: install it
- name: by-path-program
  user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: login, args: null, env: null } }
- name: as-another
  user: { token: abc, as: root, as-uid: '7', as-groups: [g1, g2], as-user-extra: { scope: [a, b] } }
- name: nothing
contexts:
- name: first
  context: { cluster: one, user: by-files, namespace: apps }
- name: second
  context: { cluster: two, user: by-data }
${['by-token', 'by-token-file', 'by-password', 'by-program', 'by-path-program', 'as-another', 'nothing']
  .map((user) => `- name: ${user}\n  context: { cluster: three, user: ${user} }`)
  .join('\n')}
- name: nobody
  context: { cluster: three }
- name: broken
  context: { cluster: gone, user: by-token }
`
const files = filesOf({
  '/home/me/.kube/config': main,
  '/home/me/.kube/pki/ca.crt': 'CA FILE',
  '/abs/client.crt': 'CERT FILE',
  '/home/me/.kube/client.key': 'KEY FILE',
})

test('the current context is taken unless another is named; what lies in files is read, relative to the kubeconfig', async () => {
  const config = await Kubeconfig.read(files, '/home/me/.kube/config')
  assert.equal(config.currentContext, 'second')
  assert.deepEqual(config.contexts.slice(0, 3), ['first', 'second', 'by-token'])
  assert.deepEqual(await config.context(), {
    name: 'second',
    namespace: '',
    cluster: { server: 'https://two:6443', authority: 'AUTHORITY', skipsVerification: false },
    user: { certificate: 'CERT', key: 'KEY' },
  })
  assert.deepEqual(await config.context('first'), {
    name: 'first',
    namespace: 'apps',
    cluster: { server: 'https://one:6443', authority: 'CA FILE', serverName: 'kubernetes', skipsVerification: false },
    user: { certificate: 'CERT FILE', key: 'KEY FILE' },
  })
})

for (const [name, user] of [
  ['by-token', { token: 'abc' }],
  ['by-token-file', { tokenFile: '/home/me/.kube/token' }],
  ['by-password', { username: 'me', password: 'secret' }],
  ['nothing', {}],
  ['nobody', {}],
  ['as-another', { token: 'abc', impersonate: { user: 'root', uid: '7', groups: ['g1', 'g2'], extra: { scope: ['a', 'b'] } } }],
] as const) {
  test(`a user ${name} is understood`, async () => {
    const config = await Kubeconfig.read(files, '/home/me/.kube/config')
    const context = await config.context(name)
    assert.deepEqual(context.user, user)
    assert.equal(context.cluster.skipsVerification, true)
  })
}

test('a program with a slash is relative to the kubeconfig, one without is looked for on the path', async () => {
  const config = await Kubeconfig.read(files, '/home/me/.kube/config')
  assert.deepEqual((await config.context('by-program')).user.exec, {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/home/me/.kube/bin/login',
    args: ['--cluster', 'one'],
    environment: { REGION: 'north' },
    providesClusterInfo: true,
    installHint: 'install it',
    interactiveMode: 'IfAvailable',
  })
  assert.equal((await config.context('by-path-program')).user.exec?.command, 'login')
})

for (const [what, path, name, complaint] of [
  ['a context that is not there', '/home/me/.kube/config', 'absent', /context "absent" does not exist/],
  ['a cluster that is not there', '/home/me/.kube/config', 'broken', /cluster "gone" does not exist/],
  ['no current context', '/none', undefined, /names no current context/],
  ['a file that is no kubeconfig', '/text', undefined, /\/text is no kubeconfig/],
  ['a file that is not there', '/absent', undefined, /ENOENT/],
] as const) {
  test(`${what} is told`, async () => {
    const texts = filesOf({ '/home/me/.kube/config': main, '/none': 'clusters: null\ncontexts: []', '/text': 'hello' })
    await assert.rejects(async () => (await Kubeconfig.read(texts, path)).context(name), complaint)
  })
}

test('of several files the first that has an entry is believed, and each has its own directory', async () => {
  const cluster = (server: string) => `clusters: [{ name: c, cluster: { server: ${server}, certificate-authority: ca } }]`
  const texts = filesOf({
    '/a/config': `${cluster('https://a')}\ncontexts: [{ name: x, context: { cluster: c, user: u } }]`,
    '/b/config': `${cluster('https://b')}\nusers: [{ name: u, user: { token: t } }]\ncurrent-context: x\ncontexts: [{ name: y, context: { cluster: c, user: u } }]`,
    '/a/ca': 'A',
    '/b/ca': 'B',
    '/empty': '',
  })
  const config = await Kubeconfig.readPresent(texts, ['/absent', '/empty', '/a/config', '/b/config'])
  assert.deepEqual(config?.contexts, ['x', 'y'])
  const context = await config?.context()
  assert.deepEqual([context?.cluster.server, context?.cluster.authority, context?.user.token], ['https://a', 'A', 't'])
  assert.equal(await Kubeconfig.readPresent(texts, ['/absent', '/empty']), undefined)
})
