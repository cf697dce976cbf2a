/** Manifests as people have them lying about, of every age: each does what its row in test/manifests/README.md says. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { installedKubectls, kubectl } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { rows } from './manifests/manifest-rows.ts'
import { directory, type Manifest, ManifestTools, manifestsOf } from './manifests/manifest-tools.ts'

const newest = installedKubectls().at(-1)
const toolsFor = (cluster: RunningCluster) => new ManifestTools(kubectl(newest?.path ?? '', newest?.version ?? '', cluster.kubeconfig))

test('every file has its row in the README, and its entry here', () => {
  const files = readdirSync(directory).filter((name) => /^\d\d-/.test(name))
  const readme = readFileSync(join(directory, 'README.md'), 'utf8')
  assert.deepEqual(
    [...readme.matchAll(/^\| (\d\d-\S+) /gm)].map(([, file]) => file),
    files.sort(),
  )
  assert.deepEqual(Object.keys(rows).sort(), files.sort())
})

describe('manifests, on simulated nodes', { skip: newest === undefined && 'kubectl is not installed' }, () => {
  let cluster: RunningCluster
  let tools: ManifestTools
  before(async () => {
    cluster = await startCluster(['--store', 'memory', '--sim-nodes', '2', '--metrics-server=false'])
    tools = toolsFor(cluster)
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  /** The namespaces that whoever wrote the manifest had. */
  const prepare = (manifests: readonly Manifest[]) => {
    const own = new Set(manifests.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name))
    for (const namespace of new Set(manifests.map(({ metadata }) => metadata.namespace ?? 'default'))) {
      if (own.has(namespace)) continue
      if (!tools.exists(`namespace ${namespace}`)) tools.ok(`create namespace ${namespace}`)
      tools.wait('create', `serviceaccount/default -n ${namespace}`)
    }
  }
  const remove = (file: string) => {
    tools.ok(`delete -f ${tools.path(file)} --now --wait=false --ignore-not-found`)
    for (const { kind, metadata } of manifestsOf(file)) {
      const what = `${kind} ${metadata.name} -n ${metadata.namespace ?? 'default'}`
      // A controller may let go of it in the same moment.
      if (kind.startsWith('PersistentVolume') && tools.exists(what))
        tools.attempt(['patch', ...what.split(' '), '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
      tools.wait('delete', `${kind}/${metadata.name} -n ${metadata.namespace ?? 'default'}`)
    }
  }

  const lookAt = (file: string) => {
    const manifests = manifestsOf(file)
    assert.equal(tools.ok(`get -f ${tools.path(file)} -o name`).split('\n').length, manifests.length)
    const described = tools.ok(`describe -f ${tools.path(file)}`)
    for (const { metadata } of manifests) assert.match(described, new RegExp(`Name: +${metadata.name}`))
  }

  for (const [file, { does, verb = 'create', vanishes, after: first = [], check, awaits }] of Object.entries(rows)) {
    test(`${file}${awaits === undefined ? '' : ` (awaits ${awaits})`}`, async () => {
      for (const each of first) {
        tools.ok(`create -f ${tools.path(each)}`)
        if (each.includes('crd')) tools.wait('condition=Established', 'crd --all')
      }
      if (verb === 'replace') tools.wait('jsonpath={.spec.podCIDR}', 'node/node1')
      if (typeof does === 'object') {
        assert.match(tools.refused([verb, '-f', tools.path(file)]), does.refuse)
        await check?.(tools, '')
      } else if (does === 'read') {
        assert.notEqual(readFileSync(tools.path(file), 'utf8').trim(), '')
        await check?.(tools, '')
      } else {
        const manifests = manifestsOf(file)
        prepare(manifests)
        const { stdout, stderr } = tools.run([does, '-f', tools.path(file)])
        assert.equal(stdout.trim().split('\n').length, manifests.length, stdout)
        if (!vanishes) lookAt(file)
        await check?.(tools, stderr)
        if (does === 'create') remove(file)
      }
      for (const each of first) remove(each)
    })
  }
})

describe('manifests, with the flags that they are about', { skip: newest === undefined && 'kubectl is not installed' }, () => {
  let cluster: RunningCluster
  let tools: ManifestTools
  before(async () => {
    const file = (name: string) => join(directory, name)
    const flags = [
      ...['--store', 'memory', '--controllers=certificatesigningrequest-signing-controller', '--scheduler=false'],
      ...['--enable-admission-plugins', 'NodeRestriction,PodSecurityPolicy,PodPreset'],
      ...['--service-cluster-ip-range', '10.0.0.0/16'],
      ...['--basic-auth-file', file('54-basic-auth.csv'), '--token-auth-file', file('55-token-auth.csv')],
      ...['--authorization-mode', 'Node,RBAC,ABAC', '--authorization-policy-file', file('57-abac-policy-bool.jsonl')],
    ]
    cluster = await startCluster(flags, directoryWithAuthority())
    tools = toolsFor(cluster)
    for (const namespace of ['default', 'myns']) {
      if (!tools.exists(`namespace ${namespace}`)) tools.ok(`create namespace ${namespace}`)
      tools.ok(`create serviceaccount default -n ${namespace}`)
    }
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  /** A data directory in which somebody has put the authority of 59-cfssl-ca-csr.json before the first start. */
  const directoryWithAuthority = (): string => {
    const { CN, key } = JSON.parse(readFileSync(join(directory, '59-cfssl-ca-csr.json'), 'utf8'))
    const made = mkdtempSync(join(tmpdir(), 'tn test '))
    const pki = join(made, 'data', 'pki')
    mkdirSync(pki, { recursive: true })
    const request = ['req', '-x509', '-new', '-nodes', '-newkey', `${key.algo}:${key.size}`, '-subj', `/CN=${CN}`, '-days', '3650']
    const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,digitalSignature']
    const files = ['-keyout', join(pki, 'ca.key'), '-out', join(pki, 'ca.crt')]
    execFileSync('openssl', [...request, ...files, ...extensions.flatMap((each) => ['-addext', each])], { stdio: 'ignore' })
    return made
  }

  test('59-cfssl-ca-csr.json: an authority of this name with a key of RSA is taken, and clients verify the server by it', () => {
    const config = tools.ok('config view --raw -o json')
    const data = JSON.parse(config).clusters[0].cluster['certificate-authority-data']
    const { subject, publicKey } = new X509Certificate(Buffer.from(data, 'base64'))
    assert.deepEqual([subject, publicKey.asymmetricKeyType, publicKey.asymmetricKeyDetails?.modulusLength], ['CN=kubernetes', 'rsa', 2048])
    assert.match(tools.ok('get --raw /readyz'), /ok/)
  })

  const podWith = (metadata: object, ports: object[] = []) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'c', image: 'i', ports }] } })
  const whoAmI = async (authorization: string): Promise<string> => {
    const anonymous = ['--raw', '/apis/authentication.k8s.io/v1/selfsubjectreviews', '-f', '-']
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
    const [scheme = '', secret = ''] = authorization.split(' ')
    const [user = '', password = ''] = secret.split(':')
    const how = scheme === 'Basic' ? ['--username', user, '--password', password] : ['--token', secret]
    const bare = ['--kubeconfig', '/dev/null', '--server', cluster.url, '--insecure-skip-tls-verify']
    return JSON.parse(tools.run(['create', ...bare, ...how, ...anonymous], review).stdout).status.userInfo.username
  }

  test('09-podsecuritypolicy.yaml: host ports outside its range are refused', () => {
    tools.ok(`create -f ${tools.path('09-podsecuritypolicy.yaml')}`)
    tools.ok('create -f -', podWith({ name: 'within' }, [{ containerPort: 80, hostPort: 8001 }]))
    const refusal = tools.refused(['create', '-f', '-'], podWith({ name: 'outside' }, [{ containerPort: 80, hostPort: 9000 }]))
    assert.match(refusal, /forbidden: PodSecurityPolicy: unable to admit pod: .*9000/)
  })

  test('19-service-loadbalancer.yaml: its address is in the range, its status is not kept', () => {
    tools.ok(`create -f ${tools.path('19-service-loadbalancer.yaml')}`)
    const { spec, status } = tools.get('service lb')
    assert.deepEqual([spec.clusterIP, spec.loadBalancerIP, status], ['10.0.171.239', '78.11.24.19', { loadBalancer: {} }])
  })

  test('24-podpreset.yaml: pods with its label get the variable and the volume', () => {
    tools.ok(`create -f ${tools.path('24-podpreset.yaml')}`)
    tools.ok('create -n myns -f -', podWith({ name: 'web', labels: { role: 'frontend' } }))
    const { containers, volumes } = tools.get('pod web -n myns').spec
    assert.deepEqual(containers[0].env, [{ name: 'DB_PORT', value: '6379' }])
    assert.ok(volumes.some(({ name }: { name: string }) => name === 'cache-volume'))
  })

  test('36-node-uncordon.yaml after 01: SchedulingDisabled goes', () => {
    tools.ok(`create -f ${tools.path('01-node-cordon.yaml')}`)
    tools.ok(`replace -f ${tools.path('36-node-uncordon.yaml')}`)
    assert.doesNotMatch(tools.ok('get node node1'), /SchedulingDisabled/)
    assert.equal('unschedulable' in tools.get('node node1').spec, false)
  })

  test('54-basic-auth.csv and 55-token-auth.csv: users log in; of two lines with one token the last wins', async () => {
    assert.equal(await whoAmI('Basic admin:admin_passwd'), 'admin')
    assert.equal(await whoAmI('Basic test:test_passwd'), 'test')
    assert.equal(await whoAmI('Bearer xxxxxxxxxxxxxx'), 'test')
  })

  test('58-cfssl-ca-config.json and 60-cfssl-client-csr.json: its certificate lasts a year, has its usages, and logs in', () => {
    const { signing } = JSON.parse(readFileSync(join(directory, '58-cfssl-ca-config.json'), 'utf8'))
    const { CN, key } = JSON.parse(readFileSync(join(directory, '60-cfssl-client-csr.json'), 'utf8'))
    const at = (name: string) => join(cluster.directory, name)
    const request = ['req', '-new', '-nodes', '-newkey', `${key.algo}:${key.size}`, '-subj', `/CN=${CN}`]
    execFileSync('openssl', [...request, '-keyout', at('client.key'), '-out', at('client.csr')], { stdio: 'ignore' })
    const spec = {
      request: readFileSync(at('client.csr')).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      // Certificates of users are not those of servers.
      usages: signing.profiles.kubernetes.usages.filter((usage: string) => !['signing', 'server auth'].includes(usage)),
    }
    const csr = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name: 'client' }, spec }
    tools.ok('create -f -', JSON.stringify(csr))
    tools.ok('certificate approve client')
    tools.wait('jsonpath={.status.certificate}', 'csr/client')
    writeFileSync(at('client.crt'), Buffer.from(tools.get('csr client').status.certificate, 'base64'))
    const { validFromDate, validToDate, keyUsage } = new X509Certificate(readFileSync(at('client.crt')))
    const lastsHours = (validToDate.getTime() - validFromDate.getTime()) / 3_600_000
    assert.ok(Math.abs(lastsHours - Number.parseInt(signing.profiles.kubernetes.expiry, 10)) < 1, `${lastsHours} hours`)
    assert.deepEqual(keyUsage, ['1.3.6.1.5.5.7.3.2'])
    const own = ['--client-certificate', at('client.crt'), '--client-key', at('client.key'), '--insecure-skip-tls-verify']
    const who = tools.run(['--kubeconfig', '/dev/null', '--server', cluster.url, ...own, 'auth', 'whoami', '-o', 'json'])
    assert.equal(JSON.parse(who.stdout).status.userInfo.username, 'client')
  })

  test('57-abac-policy-bool.jsonl: the user may read pods, and nothing else', () => {
    for (const verb of ['get', 'list', 'watch']) assert.equal(tools.mayDo('kubelet', verb, 'pods', 'default'), true, verb)
    for (const verb of ['create', 'update', 'delete']) assert.equal(tools.mayDo('kubelet', verb, 'pods', 'default'), false, verb)
    assert.equal(tools.mayDo('kubelet', 'get', 'secrets', 'default'), false)
  })
})

test('56-abac-policy.jsonl: a server does not start on it, and names the line', async () => {
  const policy = ['--authorization-mode', 'ABAC', '--authorization-policy-file', join(directory, '56-abac-policy.jsonl')]
  await assert.rejects(startCluster(['--store', 'memory', ...policy]), /56-abac-policy\.jsonl.*line 1|line 1.*56-abac-policy\.jsonl/)
})
