import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { issueIdentity } from '#apiserver/pki/authority.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities, nodeIdentities } from '#apiserver/pki/identities.ts'
import { type KeyDirectory, memoryKeyDirectory, openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { storedIdentities } from '#apiserver/pki/stored-identities.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const serving = { hostName: 'box', serviceIp: '10.96.0.1', clusterDomain: 'cluster.local', addresses: ['192.0.2.7'] }
const identities = [...clusterIdentities(serving), ...nodeIdentities('n1', ['192.0.2.7'])]

function emptyDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'pki-'))
  t.after(() => rmSync(path, { recursive: true }))
  return join(path, 'pki')
}

async function open(t: TestContext, directory: KeyDirectory, clock = new VirtualClock(), wanted = identities): Promise<ClusterKeys> {
  const keys = await ClusterKeys.open({ directory, clock, random: systemRandom, log: silentLogger }, wanted)
  t.after(() => keys[Symbol.dispose]())
  return keys
}

test('the first start makes every certificate with its name, group, signer and use', async (t) => {
  const keys = await open(t, memoryKeyDirectory())
  const facts = (name: string) => {
    const certificate = new X509Certificate(keys.identity(name).certificatePem)
    const signer = ['ca', 'front-proxy-ca'].find((ca) => certificate.verify(keys.authority(ca as 'ca').certificate.publicKey))
    return [name, certificate.subject.replaceAll('\n', ','), signer, certificate.keyUsage.map((id) => id.slice(-1)).join()]
  }
  assert.deepEqual(
    identities.map(({ name }) => facts(name)),
    [
      ['apiserver', 'CN=kube-apiserver', 'ca', '1'],
      ['apiserver-kubelet-client', 'O=system:masters,CN=kube-apiserver-kubelet-client', 'ca', '2'],
      ['front-proxy-client', 'CN=front-proxy-client', 'front-proxy-ca', '2'],
      ['admin', 'O=system:masters,CN=kubernetes-admin', 'ca', '2'],
      ['controller-manager', 'CN=system:kube-controller-manager', 'ca', '2'],
      ['scheduler', 'CN=system:kube-scheduler', 'ca', '2'],
      ['kube-proxy', 'CN=system:kube-proxy', 'ca', '2'],
      ['kubelet-client-n1', 'O=system:nodes,CN=system:node:n1', 'ca', '2'],
      ['kubelet-serving-n1', 'O=system:nodes,CN=system:node:n1', 'ca', '1'],
    ],
  )
  const certificate = new X509Certificate(keys.identity('apiserver').certificatePem)
  for (const host of [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'localhost',
    'box',
  ]) {
    assert.equal(certificate.checkHost(host), host)
  }
  for (const ip of ['127.0.0.1', '::1', '10.96.0.1', '192.0.2.7']) assert.equal(certificate.checkIP(ip), ip)
  assert.equal(keys.serviceAccountKeys.privateKey.asymmetricKeyType, 'ec')
})

test('files are closed to others, and the next start finds them again', async (t) => {
  const path = emptyDirectory(t)
  const first = await open(t, await openKeyDirectory(nodeFiles, path))
  assert.equal(statSync(path).mode & 0o777, 0o700)
  for (const name of readdirSync(path)) {
    assert.equal(statSync(join(path, name)).mode & 0o777, /\.(crt|pub)$/.test(name) ? 0o644 : 0o600, name)
  }
  chmodSync(join(path, 'admin.pem'), 0o644)
  chmodSync(path, 0o755)
  const second = await open(t, await openKeyDirectory(nodeFiles, path))
  for (const { name } of identities) assert.equal(second.identity(name).certificatePem, first.identity(name).certificatePem, name)
  assert.equal(second.authority('ca').certificatePem, first.authority('ca').certificatePem)
  assert.ok(second.serviceAccountKeys.privateKey.equals(first.serviceAccountKeys.privateKey))
  assert.equal(statSync(join(path, 'admin.pem')).mode & 0o777, 0o600)
  assert.equal(statSync(path).mode & 0o777, 0o700)
})

test('openssl trusts what the authority issued', {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'no openssl here',
}, async (t) => {
  const path = emptyDirectory(t)
  await open(t, await openKeyDirectory(nodeFiles, path), new VirtualClock(Date.now()))
  for (const { name, signer, usages } of identities) {
    const purpose = usages[0] === 'serverAuth' ? 'sslserver' : 'sslclient'
    const args = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', join(path, `${signer}.crt`), join(path, `${name}.pem`)]
    const { status, stderr } = spawnSync('openssl', args)
    assert.equal(status, 0, `${name}: ${stderr}`)
  }
})

test('a TLS server with the serving certificate is trusted by name and address, and sees the client', async (t) => {
  const keys = await open(t, memoryKeyDirectory(), new VirtualClock(Date.now()))
  const ca = keys.authority('ca').certificatePem
  const { certificatePem: cert, privateKeyPem: key } = keys.identity('apiserver')
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (socket) => {
    socket.end(socket.getPeerX509Certificate()?.subject ?? '')
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const admin = keys.identity('admin')
  // Not by looking the name up: where it has two addresses, Node gives up on the first of them after a quarter of a second.
  for (const name of [{ servername: 'localhost' }, {}]) {
    const place = { port: address.port, host: '127.0.0.1', ...name }
    const socket: TLSSocket = connect({ ...place, ca, cert: admin.certificatePem, key: admin.privateKeyPem })
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    assert.equal(text, 'O=system:masters\nCN=kubernetes-admin')
  }
})

test('a changed address gives a new serving certificate, and only that', async (t) => {
  const directory = memoryKeyDirectory()
  const first = await open(t, directory)
  const second = await open(t, directory, new VirtualClock(), clusterIdentities({ ...serving, addresses: ['192.0.2.8'] }))
  assert.notEqual(second.identity('apiserver').certificatePem, first.identity('apiserver').certificatePem)
  assert.equal(second.identity('admin').certificatePem, first.identity('admin').certificatePem)
})

test('certificates renew themselves with a third of their life left, authorities too, and say so', async (t) => {
  const clock = new VirtualClock()
  const keys = await open(t, memoryKeyDirectory(), clock)
  const changes: string[][] = []
  keys.onChange((names) => changes.push([...names]))
  const before = keys.identity('apiserver').certificatePem
  const authority = keys.authority('ca')
  await clock.advance({ days: 243 })
  assert.deepEqual(changes, [])
  await clock.advance({ days: 1 })
  assert.deepEqual(changes, [identities.map(({ name }) => name)])
  assert.notEqual(keys.identity('apiserver').certificatePem, before)

  const start = clock.now()
  while (clock.now() < start + 3600 * 24 * 3600 * 1000) await clock.advance({ days: 30 })
  const renewed = keys.authority('ca')
  assert.notEqual(renewed.certificatePem, authority.certificatePem)
  const serving = new X509Certificate(keys.identity('apiserver').certificatePem)
  assert.ok(serving.validToDate.getTime() > clock.now())
  assert.ok(
    serving.checkIssued(authority.certificate) && serving.verify(authority.certificate.publicKey),
    'whoever trusts the first authority still does',
  )
})

test('renewing by hand in another process is noticed', async (t) => {
  const path = emptyDirectory(t)
  const clock = new VirtualClock()
  const server = await open(t, await openKeyDirectory(nodeFiles, path), clock)
  const noticed = Promise.withResolvers<readonly string[]>()
  server.onChange(noticed.resolve)
  const tool = await open(t, await openKeyDirectory(nodeFiles, path), new VirtualClock())
  assert.deepEqual(await tool.renew(['apiserver']), ['apiserver'])
  const ticking = setInterval(() => clock.advance(1000), 5)
  t.after(() => clearInterval(ticking))
  assert.deepEqual(await noticed.promise, ['apiserver'])
  assert.equal(server.identity('apiserver').certificatePem, tool.identity('apiserver').certificatePem)
})

test('renewing something unknown says what there is', async (t) => {
  const keys = await open(t, memoryKeyDirectory())
  await assert.rejects(keys.renew(['nope']), /there is no certificate "nope"; there are ca, front-proxy-ca, etcd-ca, apiserver, /)
})

test('status lists every certificate with its end and its renewal', async (t) => {
  const keys = await open(t, memoryKeyDirectory())
  const lines = keys.status()
  assert.deepEqual(
    lines.map(({ name }) => name),
    ['ca', 'front-proxy-ca', 'etcd-ca', ...identities.map(({ name }) => name)],
  )
  for (const line of lines) assert.ok(line.notBeforeMs < line.renewAtMs && line.renewAtMs < line.notAfterMs)
  assert.equal(lines.find(({ name }) => name === 'admin')?.subject, 'O=system:masters, CN=kubernetes-admin')
})

const damage: [string, (path: string) => void][] = [
  ['is cut short', (path) => writeFileSync(path, readFileSync(path).subarray(0, 300))],
  ['is empty', (path) => writeFileSync(path, '')],
  [
    'holds the key of another',
    (path) =>
      writeFileSync(
        path,
        String(readFileSync(path)).split('-----BEGIN PRIVATE')[0] + String(readFileSync(path.replace('scheduler', 'admin'))).slice(200),
      ),
  ],
]
for (const [what, spoil] of damage) {
  test(`a certificate file that ${what} is replaced at the next start`, async (t) => {
    const path = emptyDirectory(t)
    await open(t, await openKeyDirectory(nodeFiles, path))
    spoil(join(path, 'scheduler.pem'))
    const keys = await open(t, await openKeyDirectory(nodeFiles, path))
    assert.match(new X509Certificate(keys.identity('scheduler').certificatePem).subject, /system:kube-scheduler/)
    assert.match(readFileSync(join(path, 'scheduler.pem'), 'utf8'), /END PRIVATE KEY/)
  })
}

test('an authority whose key is kept elsewhere serves what is there and refuses to issue', async (t) => {
  const path = emptyDirectory(t)
  await open(t, await openKeyDirectory(nodeFiles, path))
  rmSync(join(path, 'ca.key'))
  await open(t, await openKeyDirectory(nodeFiles, path))
  rmSync(join(path, 'scheduler.pem'))
  await assert.rejects(open(t, await openKeyDirectory(nodeFiles, path)), /cannot issue the certificate scheduler: ca\.key is not there/)
})

test('what cannot be renewed is told of before its end, and after; the rest is renewed; a new file is taken over', async (t) => {
  const path = emptyDirectory(t)
  const clock = new VirtualClock(Date.now())
  const elsewhere = await openKeyDirectory(nodeFiles, path)
  await open(t, elsewhere, new VirtualClock(clock.now()))
  const ca = (await elsewhere.readAuthority('ca')) ?? assert.fail()
  rmSync(join(path, 'ca.key'))
  const said: string[] = []
  const note = (message: string) => void said.push(message)
  const log = { ...silentLogger, warn: note, error: note }
  const keys = await ClusterKeys.open({ directory: await openKeyDirectory(nodeFiles, path), clock, random: systemRandom, log }, identities)
  t.after(() => keys[Symbol.dispose]())
  const [admin, frontProxy] = [keys.identity('admin'), keys.identity('front-proxy-client')]

  // Files take their own time, whatever the clock says.
  const pass = async (days: number) => {
    for (let day = 0; day < days; day++) {
      await clock.advance({ days: 1 })
      await keys.settled()
    }
  }
  await pass(320)
  assert.equal(said.length, 0)
  await pass(40)
  const soon = said.filter((line) => line.includes('admin.pem'))
  assert.equal(soon.length, 1)
  assert.match(soon[0] ?? '', /^the certificate in admin\.pem expires at 20\S+Z and is not renewed by itself: replace the file/)
  await pass(6)
  assert.match(said.at(-1) ?? '', /has expired at 20\S+Z: replace the file, it is read again without a restart/)
  assert.equal(keys.identity('admin').certificatePem, admin.certificatePem)
  assert.notEqual(keys.identity('front-proxy-client').certificatePem, frontProxy.certificatePem, 'its authority has its key')

  // Somebody who has the key writes a new one.
  const identity = identities.find(({ name }) => name === 'admin') ?? assert.fail()
  const noticed = Promise.withResolvers<readonly string[]>()
  keys.onChange(noticed.resolve)
  await elsewhere.writeIdentity('admin', issueIdentity(identity, ca, clock.now(), systemRandom))
  const ticking = setInterval(() => clock.advance(1000), 5)
  t.after(() => clearInterval(ticking))
  assert.deepEqual(await noticed.promise, ['admin'])
  said.length = 0
  await clock.advance({ hours: 2 })
  assert.ok(said.length > 0 && !said.some((line) => line.includes('admin.pem')), said.join('\n'))
  await open(t, await openKeyDirectory(nodeFiles, path), new VirtualClock(clock.now()))
})

test('a tool that knows only the directory finds everything in it, and renews it as it was', async (t) => {
  const path = emptyDirectory(t)
  const first = await open(t, await openKeyDirectory(nodeFiles, path))
  const directory = await openKeyDirectory(nodeFiles, path)
  const tool = await open(t, directory, new VirtualClock(), await storedIdentities(directory))
  assert.deepEqual(new Set(tool.status().map(({ name }) => name)), new Set(first.status().map(({ name }) => name)))
  assert.equal(tool.identity('apiserver').certificatePem, first.identity('apiserver').certificatePem)
  await tool.renew()
  const again = await open(t, await openKeyDirectory(nodeFiles, path))
  for (const { name } of identities) {
    assert.notEqual(again.identity(name).certificatePem, first.identity(name).certificatePem, name)
    assert.equal(again.identity(name).certificatePem, tool.identity(name).certificatePem, name)
  }
})
