/** A key and a request by openssl, the approval by kubectl: what comes back is a user of the cluster. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { installedKubectls } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const kubectl = installedKubectls().at(-1)?.path
const skip =
  kubectl === undefined ? 'kubectl is not installed' : spawnSync('openssl', ['version']).status !== 0 && 'openssl is not installed'

describe('certificates of users', { skip }, () => {
  let cluster: RunningCluster
  const file = (name: string) => join(cluster.directory, name)
  // By default kubectl keeps what it has discovered of any cluster that once had this port.
  const client = (kubeconfig: string) => ['--kubeconfig', kubeconfig, '--cache-dir', file('cache')]
  const run = (program: string, args: readonly string[], input = '') => {
    const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const asAdmin = (...args: string[]) => run(kubectl ?? '', [...client(cluster.kubeconfig), ...args])

  before(async () => {
    cluster = await startCluster(['--store', 'memory', '--scheduler=false'])
    const kubeconfig = JSON.parse(asAdmin('config', 'view', '--raw', '-o', 'json'))
    const authority = kubeconfig.clusters[0].cluster['certificate-authority-data']
    writeFileSync(file('ca.crt'), Buffer.from(authority, 'base64'))
  })
  after(() => cluster[Symbol.asyncDispose]())

  function ask(name: string, key: readonly string[], spec: object): void {
    run('openssl', [
      'req',
      '-new',
      '-nodes',
      ...key,
      '-keyout',
      file(`${name}.key`),
      '-subj',
      `/O=devs/CN=${name}`,
      '-out',
      file(`${name}.csr`),
    ])
    const request = readFileSync(file(`${name}.csr`)).toString('base64')
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: { request, signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'], ...spec },
    }
    run(kubectl ?? '', [...client(cluster.kubeconfig), 'create', '-f', '-'], JSON.stringify(object))
  }
  const keys = {
    rsa: ['-newkey', 'rsa:2048'],
    ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
    ed25519: ['-newkey', 'ed25519'],
  }
  test('certs issue makes a user, a node, an admin of the cluster, each known by name and groups', () => {
    const issue = (...words: string[]) =>
      run(process.execPath, [program, 'certs', 'issue', ...words, '--data-dir', file('data'), '--out', file('issued')])
    issue('user', 'jane', '--groups', 'devs,testers')
    issue('node', 'far')
    issue('admin')
    const whoAmI = (name: string) =>
      JSON.parse(run(kubectl ?? '', [...client(file(`issued/${name}.kubeconfig`)), 'auth', 'whoami', '-o', 'json'])).status.userInfo
    assert.deepEqual([whoAmI('jane').username, whoAmI('jane').groups], ['jane', ['devs', 'testers', 'system:authenticated']])
    assert.deepEqual([whoAmI('far').username, whoAmI('far').groups], ['system:node:far', ['system:nodes', 'system:authenticated']])
    assert.ok(whoAmI('admin').groups.includes('system:masters'))
  })

  for (const [name, key] of Object.entries(keys)) {
    test(`an approved request with a key of ${name} becomes a certificate that openssl verifies and the API server believes`, () => {
      ask(name, key, { expirationSeconds: 3600 })
      asAdmin('certificate', 'approve', name)
      asAdmin('wait', `csr/${name}`, '--for=jsonpath={.status.certificate}', '--timeout=60s')
      assert.match(asAdmin('get', 'csr', name), /Approved,Issued/)
      const issued = asAdmin('get', 'csr', name, '-o', 'jsonpath={.status.certificate}')
      writeFileSync(file(`${name}.crt`), Buffer.from(issued, 'base64'))
      run('openssl', ['verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', file('ca.crt'), file(`${name}.crt`)])
      const own = [
        '--certificate-authority',
        file('ca.crt'),
        '--client-certificate',
        file(`${name}.crt`),
        '--client-key',
        file(`${name}.key`),
      ]
      const nobody = file('empty.kubeconfig')
      writeFileSync(nobody, '')
      const who = run(kubectl ?? '', [...client(nobody), '--server', cluster.url, ...own, 'auth', 'whoami', '-o', 'json'])
      const { username, groups } = JSON.parse(who).status.userInfo
      assert.deepEqual([username, groups], [name, ['devs', 'system:authenticated']])
    })
  }

  test('a request that its signer refuses fails, and says why', () => {
    ask('server', keys.ec, { usages: ['server auth'] })
    asAdmin('certificate', 'approve', 'server')
    asAdmin('wait', 'csr/server', '--for=condition=Failed', '--timeout=60s')
    assert.match(asAdmin('get', 'csr', 'server'), /Approved,Failed/)
    assert.match(
      asAdmin('get', 'csr', 'server', '-o', 'jsonpath={.status.conditions[?(@.type=="Failed")].message}'),
      /invalid usage for client certificate: server auth/,
    )
  })
})
