import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime } from '#api/meta/time.ts'
import type { Files } from '#base/files.ts'
import type { HttpClientOptions, HttpClientRequest } from '#base/http-client.ts'
import type { Processes, RunOptions } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type ConnectSeams, connect, inClusterContext } from '#client/kubeconfig/connect.ts'
import type { ExecPlugin, KubeconfigCluster, KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'
import type { Transport } from '#client/transport.ts'

/** Everything outside, as a test wants it, and what was asked of it. */
class Outside {
  readonly clock = new VirtualClock()
  readonly opened: HttpClientOptions[] = []
  readonly requests: HttpClientRequest[] = []
  readonly runs: { command: string; args: readonly string[]; options: RunOptions }[] = []
  readonly texts: Record<string, string> = {}
  status = 200
  program: () => { exitCode?: number; stdout?: string; stderr?: string } = () => ({})
  isMissing = false
  inputIsTerminal = false

  readonly seams: ConnectSeams = {
    clock: this.clock,
    terminal: this,
    files: {
      readText: async (path: string) => this.texts[path] ?? assert.fail(`nobody should read ${path}`),
      readTextIfPresent: async (path: string) => this.texts[path],
    } as Files,
    processes: {
      run: async (command, args, options = {}) => {
        this.runs.push({ command, args, options })
        if (this.isMissing) throw Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' })
        return { exitCode: 0, signal: null, stdout: '', stderr: '', ...this.program() }
      },
    } as Processes,
    http: (options) => {
      this.opened.push(options)
      return {
        request: async (request) => {
          this.requests.push(request)
          return { status: this.status, headers: {}, body: (async function* () {})(), text: async () => '{}' }
        },
        [Symbol.dispose]() {},
      }
    },
  }

  connect(user: KubeconfigUser, cluster: Partial<KubeconfigCluster> = {}): Promise<Transport> {
    const whole = { server: 'https://host:6443/below/', skipsVerification: false, ...cluster }
    return connect({ name: 'test', namespace: '', cluster: whole, user }, this.seams)
  }
  get lastHeaders() {
    return this.requests.at(-1)?.headers ?? {}
  }
}

const ask = (transport: Transport) => transport.send({ method: 'GET', target: '/api', headers: { accept: 'application/json' } })

test('requests go below the address of the server, with its authority and the certificate of the user', async () => {
  const outside = new Outside()
  const transport = await outside.connect({ certificate: 'C', key: 'K' }, { authority: 'A', serverName: 'kubernetes' })
  await ask(transport)
  assert.equal(outside.requests[0]?.url, 'https://host:6443/below/api')
  assert.deepEqual(outside.opened, [{ ca: 'A', serverName: 'kubernetes', cert: 'C', key: 'K' }])
  assert.equal(outside.lastHeaders['authorization'], undefined)
})

for (const [what, user, header] of [
  ['a token', { token: 'abc' }, 'Bearer abc'],
  ['a name and a password', { username: 'me', password: 'pä' }, `Basic ${Buffer.from('me:pä').toString('base64')}`],
] as const) {
  test(`${what} is shown with each request`, async () => {
    const outside = new Outside()
    await ask(await outside.connect(user))
    assert.equal(outside.lastHeaders['authorization'], header)
  })
}

test('a token in a file is read again after ten seconds, not before', async () => {
  const outside = new Outside()
  outside.texts['/token'] = 'first\n'
  const transport = await outside.connect({ tokenFile: '/token' })
  await ask(transport)
  outside.texts['/token'] = 'second\n'
  await outside.clock.advance({ seconds: 9 })
  await ask(transport)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer first')
  await outside.clock.advance({ seconds: 2 })
  await ask(transport)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer second')
})

test('who acts as somebody else says so in headers', async () => {
  const outside = new Outside()
  const impersonate = { user: 'root', uid: '7', groups: ['g1', 'g2'], extra: { 'Example.com/Scope': ['a', 'b'] } }
  await ask(await outside.connect({ token: 't', impersonate }))
  assert.equal(outside.lastHeaders['impersonate-user'], 'root')
  assert.equal(outside.lastHeaders['impersonate-uid'], '7')
  assert.deepEqual(outside.lastHeaders['impersonate-group'], ['g1', 'g2'])
  assert.deepEqual(outside.lastHeaders['impersonate-extra-example.com%2Fscope'], ['a', 'b'])
})

const plugin: ExecPlugin = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: '/bin/login',
  args: ['now'],
  environment: { REGION: 'north' },
  providesClusterInfo: true,
  installHint: 'install it from example.com',
  interactiveMode: 'IfAvailable',
}
const answer = (status: object, apiVersion = plugin.apiVersion) => ({
  stdout: JSON.stringify({ apiVersion, kind: 'ExecCredential', status }),
})

test('a program is asked once for as long as its token is good, also by requests at the same time', async () => {
  const outside = new Outside()
  let count = 0
  outside.program = () => answer({ token: `t${++count}`, expirationTimestamp: formatTime(outside.clock.now() + 60_000) })
  const transport = await outside.connect({ exec: plugin }, { authority: 'A' })
  await Promise.all([ask(transport), ask(transport), ask(transport)])
  assert.equal(outside.runs.length, 1)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer t1')
  await outside.clock.advance({ seconds: 40 })
  await ask(transport)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer t1')
  // Shortly before it expires another is asked for.
  await outside.clock.advance({ seconds: 15 })
  await ask(transport)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer t2')
  assert.equal(outside.runs.length, 2)
})

test('a program is told which cluster it is for, when it wants to know', async () => {
  const outside = new Outside()
  outside.program = () => answer({ token: 't' })
  await ask(await outside.connect({ exec: plugin }, { authority: 'A' }))
  const [run] = outside.runs
  assert.deepEqual([run?.command, run?.args, run?.options.environment?.['REGION']], ['/bin/login', ['now'], 'north'])
  assert.deepEqual(JSON.parse(run?.options.environment?.['KUBERNETES_EXEC_INFO'] ?? ''), {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      cluster: { server: 'https://host:6443/below/', 'certificate-authority-data': Buffer.from('A').toString('base64') },
    },
  })
  await ask(await outside.connect({ exec: { ...plugin, providesClusterInfo: false } }))
  const info = JSON.parse(outside.runs[1]?.options.environment?.['KUBERNETES_EXEC_INFO'] ?? '') as { spec: object }
  assert.deepEqual(info.spec, { interactive: false })
})

test('a token that the server refuses is asked for anew; a new certificate needs new connections', async () => {
  const outside = new Outside()
  let count = 0
  outside.program = () => {
    count++
    return answer({ token: `t${count}`, clientCertificateData: `C${count}`, clientKeyData: `K${count}` })
  }
  const transport = await outside.connect({ exec: plugin })
  await ask(transport)
  await ask(transport)
  assert.deepEqual([count, outside.opened.length], [1, 1])
  outside.status = 401
  assert.equal((await ask(transport)).status, 401)
  outside.status = 200
  await ask(transport)
  assert.equal(outside.lastHeaders['authorization'], 'Bearer t2')
  assert.deepEqual(
    outside.opened.map(({ cert, key }) => [cert, key]),
    [
      ['C1', 'K1'],
      ['C2', 'K2'],
    ],
  )
})

for (const [what, arrange, complaint] of [
  [
    'is not there',
    (outside: Outside) => void Object.assign(outside, { isMissing: true }),
    /getting credentials: exec: fork\/exec \/bin\/login: no such file or directory$/,
  ],
  [
    'fails',
    (outside: Outside) => void Object.assign(outside, { program: () => ({ exitCode: 3, stderr: 'no login\n' }) }),
    /exec: executable \/bin\/login failed with exit code 3$/,
  ],
  [
    'speaks another version',
    (outside: Outside) => void Object.assign(outside, { program: () => answer({ token: 't' }, 'client.authentication.k8s.io/v1beta1') }),
    /is configured to use API version client\.authentication\.k8s\.io\/v1, plugin returned version client\.authentication\.k8s\.io\/v1beta1/,
  ],
  [
    'gives nothing',
    (outside: Outside) => void Object.assign(outside, { program: () => ({ stdout: JSON.stringify({ apiVersion: plugin.apiVersion }) }) }),
    /exec plugin didn't return a status field/,
  ],
  [
    'says what cannot be read',
    (outside: Outside) => void Object.assign(outside, { program: () => ({ stdout: 'hello' }) }),
    /decoding stdout: /,
  ],
] as const) {
  test(`a program that ${what} is complained of, and asked again by the next request`, async () => {
    const outside = new Outside()
    arrange(outside)
    const transport = await outside.connect({ exec: plugin })
    await assert.rejects(ask(transport), complaint)
    Object.assign(outside, { isMissing: false, program: () => answer({ token: 'at last' }) })
    await ask(transport)
    assert.equal(outside.lastHeaders['authorization'], 'Bearer at last')
  })
}

test('a program by its bare name that is not on the path is told of with how to install it', async () => {
  const outside = new Outside()
  outside.isMissing = true
  const transport = await outside.connect({ exec: { ...plugin, command: 'login' } })
  await assert.rejects(
    ask(transport),
    /^CredentialError: getting credentials: exec: executable login not found\n\ninstall it from example\.com$/,
  )
})

test('a program shares our standard error, and our input where there is a terminal and it may ask', async () => {
  for (const [interactiveMode, inputIsTerminal, asks] of [
    ['IfAvailable', true, true],
    ['IfAvailable', false, false],
    ['Never', true, false],
    ['Always', true, true],
  ] as const) {
    const outside = new Outside()
    outside.program = () => answer({ token: 't' })
    outside.inputIsTerminal = inputIsTerminal
    await ask(await outside.connect({ exec: { ...plugin, interactiveMode } }))
    const { shares, environment } = outside.runs[0]?.options ?? {}
    assert.deepEqual(shares, { input: asks, errors: true })
    assert.equal(JSON.parse(environment?.['KUBERNETES_EXEC_INFO'] ?? '').spec.interactive, asks)
  }
  const outside = new Outside()
  const transport = await outside.connect({ exec: { ...plugin, interactiveMode: 'Always' } })
  await assert.rejects(ask(transport), /cannot support interactive mode: standard input is not a terminal$/)
})

test('a process in a pod finds its cluster by the environment and the mounted files; elsewhere there is none', async () => {
  const outside = new Outside()
  const { files } = outside.seams
  assert.equal(await inClusterContext({}, files), undefined)
  assert.equal(await inClusterContext({ KUBERNETES_SERVICE_HOST: '10.96.0.1' }, files), undefined)
  const mount = '/var/run/secrets/kubernetes.io/serviceaccount'
  Object.assign(outside.texts, { [`${mount}/ca.crt`]: 'CA', [`${mount}/namespace`]: 'apps', [`${mount}/token`]: 'mine' })
  const context = await inClusterContext({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }, files)
  assert.deepEqual(context?.cluster, { server: 'https://[fd00::1]:443', skipsVerification: false, authority: 'CA' })
  assert.equal(context?.namespace, 'apps')
  await ask(await connect(context ?? assert.fail(), outside.seams))
  assert.equal(outside.lastHeaders['authorization'], 'Bearer mine')
})
