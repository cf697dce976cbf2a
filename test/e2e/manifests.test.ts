/** Manifests as people have them lying about, of every age: each does what its row in test/manifests/README.md says. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, kubectl } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { rows } from './manifests/manifest-rows.ts'
import { directory, type Manifest, ManifestTools, manifestsOf, type Seen } from './manifests/manifest-tools.ts'

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
      // Nothing lets go of volumes and claims before there are controllers for them.
      if (kind.startsWith('PersistentVolume') && tools.exists(what))
        tools.run(['patch', ...what.split(' '), '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
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
    cluster = await startCluster([
      ...['--store', 'memory', '--controllers=certificatesigningrequest-signing-controller', '--scheduler=false'],
      ...['--enable-admission-plugins', 'NodeRestriction,PodSecurityPolicy,PodPreset'],
      ...['--service-cluster-ip-range', '10.0.0.0/16'],
      ...['--basic-auth-file', file('54-basic-auth.csv'), '--token-auth-file', file('55-token-auth.csv')],
      ...['--authorization-mode', 'Node,RBAC,ABAC', '--authorization-policy-file', file('57-abac-policy-bool.jsonl')],
    ])
    tools = toolsFor(cluster)
    for (const namespace of ['default', 'myns']) {
      if (!tools.exists(`namespace ${namespace}`)) tools.ok(`create namespace ${namespace}`)
      tools.ok(`create serviceaccount default -n ${namespace}`)
    }
  })
  after(() => cluster?.[Symbol.asyncDispose]())

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

const whyNot = whyNoContainers() || (newest === undefined && 'kubectl is not installed')

describe('manifests, on a real node', { skip: whyNot, timeout: 300_000 }, () => {
  let cluster: RealCluster
  let tools: ManifestTools
  before(async () => {
    cluster = await startRealCluster()
    tools = new ManifestTools(cluster.kubectlAt(newest?.path ?? ''))
    tools.wait('condition=Ready', 'node --all')
    tools.wait('create', 'serviceaccount/default')
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  /** Creates what the file says, of the one image that is there. */
  const create = (file: string) => {
    const text = readFileSync(join(directory, file), 'utf8')
    tools.ok('create -f -', text.replace(/image: .*/g, 'image: typernetes.test/busybox:1').replaceAll('"bash"', '"sh"'))
  }
  const remove = (...pods: string[]) => tools.ok(`delete pod ${pods.join(' ')} --now`)
  const event = (reason: string) => tools.wait('create', `events --field-selector reason=${reason}`)

  /** A program that answers every request on port 80 with its name, in the place of the image's own. */
  const answering = 'mkdir /www; hostname > /www/index.html; exec httpd -f -p 80 -h /www'
  const createServer = (file: string, labels?: object) => {
    const [manifest] = manifestsOf(file) as Seen[]
    const [container] = manifest.spec.containers
    Object.assign(container, { image: 'typernetes.test/busybox:1', command: ['sh', '-c', answering] })
    Object.assign(container, { readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } })
    Object.assign(manifest.metadata, { labels: { ...manifest.metadata.labels, ...labels } })
    tools.ok('create -f -', JSON.stringify(manifest))
    tools.wait('condition=Ready', `pod/${manifest.metadata.name}`)
  }
  const nodeAddress = () => tools.ok('get nodes -o jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}')
  /** Rules are laid a moment after the objects are there. */
  const answerOf = async (host: string, port: number): Promise<string> => {
    for (const deadlineMs = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
      try {
        return (await (await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(5000) })).text()).trim()
      } catch (error) {
        if (Date.now() > deadlineMs) throw error
      }
    }
  }

  test('02-pod-hostport.yaml: an image that must not be pulled is not; with one that is there, the node answers', async () => {
    tools.ok(`create -f ${tools.path('02-pod-hostport.yaml')}`)
    tools.wait('jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull', 'pod/podexample')
    remove('podexample')
    createServer('02-pod-hostport.yaml')
    assert.equal(await answerOf(nodeAddress(), 8001), 'podexample')
    remove('podexample')
  })

  test('16-service.yaml, 18-service-nodeport.yaml and 40-services-kube-proxy.yaml: each leads to the pod', async () => {
    createServer('02-pod-hostport.yaml', { app: 'httpd' })
    tools.ok('run client --image=typernetes.test/busybox:1 --command -- sleep 3600')
    tools.wait('condition=Ready', 'pod/client')
    const asked = (ip: string, port: number) =>
      tools
        .run([
          ...['exec', 'client', '--', 'sh', '-c'],
          `until printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${ip} ${port} | grep podexample; do sleep 0.1; done`,
        ])
        .stdout.trim()
    const clusterIp = (service: string) => tools.get(`service ${service}`).spec.clusterIP
    tools.ok(`create -f ${tools.path('16-service.yaml')}`)
    assert.equal(asked(clusterIp('httpd'), 8000), 'podexample')
    tools.ok('delete service httpd')
    tools.ok(`create -f ${tools.path('18-service-nodeport.yaml')}`)
    assert.equal(await answerOf(nodeAddress(), 32_143), 'podexample')
    tools.ok('delete service httpd')
    tools.ok('label pod podexample app=nginx --overwrite')
    tools.ok(`create -f ${tools.path('40-services-kube-proxy.yaml')}`)
    assert.equal(asked(clusterIp('my-nginx'), 8000), 'podexample')
    assert.equal(asked('192.168.56.110', 8000), 'podexample')
    assert.equal(await answerOf(nodeAddress(), 32_143), 'podexample')
    tools.ok(`delete -f ${tools.path('40-services-kube-proxy.yaml')}`)
    remove('podexample', 'client')
  })

  test('29-networkpolicies.yaml: one denies what comes in, another allows all of it again', async () => {
    createServer('02-pod-hostport.yaml')
    tools.ok('run client --image=typernetes.test/busybox:1 --command -- sleep 3600')
    tools.wait('condition=Ready', 'pod/client')
    const { podIP } = tools.get('pod podexample').status
    /** Asks until the answer is as wanted: rules are laid a moment after the objects are there. */
    const until = (works: boolean) => {
      const ask = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${podIP} 80 | grep -q podexample`
      tools.run(['exec', 'client', '--', 'sh', '-c', `until ${works ? ask : `! ${ask}`}; do sleep 0.1; done`])
    }
    const policies = new Map((manifestsOf('29-networkpolicies.yaml') as Seen[]).map((policy) => [policy.metadata.name, policy]))
    const create = (name: string) => tools.ok('create -f -', JSON.stringify(policies.get(name)))
    until(true)
    create('default-deny-ingress')
    until(false)
    create('allow-all-ingress')
    until(true)
    create('default-deny-egress')
    until(false)
    create('allow-all-egress')
    until(true)
    // Of several policies each adds what it allows.
    create('default-deny-all')
    until(true)
    tools.ok('delete networkpolicy allow-all-ingress allow-all-egress')
    until(false)
    tools.ok('delete networkpolicy --all')
    until(true)
    remove('podexample', 'client')
  })

  test('03-pod-command.yaml: it ends well, and has said its words', () => {
    create('03-pod-command.yaml')
    tools.wait('jsonpath={.status.phase}=Succeeded', 'pod/podcommand')
    assert.equal(tools.ok('logs podcommand'), 'hello world')
    remove('podcommand')
  })

  test('04-pod-shared-volume.yaml: one container reads what the other wrote', () => {
    create('04-pod-shared-volume.yaml')
    tools.wait('jsonpath={.status.containerStatuses[?(@.name=="read")].state.running}', 'pod/podshared')
    assert.match(tools.ok('logs podshared -c read --follow'), /Hello World/)
    remove('podshared')
    rmSync('/tmp/hello', { force: true })
  })

  test('07-pod-lifecycle.yaml: a hook that fails ends the container', () => {
    create('07-pod-lifecycle.yaml')
    event('FailedPostStartHook')
    remove('jjjj')
  })

  test('08-pod-privileged.yaml: it has every capability that there is', () => {
    create('08-pod-privileged.yaml')
    tools.wait('condition=Ready', 'pod/hello-world')
    const own = /CapEff:\s+\S+/.exec(readFileSync('/proc/self/status', 'utf8'))?.[0]
    assert.equal(tools.ok('exec hello-world -- grep CapEff /proc/self/status'), own)
    remove('hello-world')
  })

  test('28-secret-and-users.yaml: the keys of the secret are files', () => {
    create('28-secret-and-users.yaml')
    tools.wait('condition=Ready', 'pod/mypod')
    assert.equal(tools.ok('exec mypod -- cat /etc/foo/username'), 'admin')
    assert.equal(tools.ok('exec mypod -- cat /etc/foo/password'), '123456')
    remove('mypod')
  })

  test('37-pod-security-context.yaml: its processes are in both groups', () => {
    create('37-pod-security-context.yaml')
    tools.wait('condition=Ready', 'pod/hello-world')
    assert.match(tools.ok('exec hello-world -- id -G'), /\b1234\b.*\b5678\b|\b5678\b.*\b1234\b/)
    remove('hello-world')
  })

  test('41-pod-emptydir.yaml and 42-pod-hostpath.yaml: one can be written to, the other not', () => {
    for (const [file, expected] of [['41-pod-emptydir.yaml', true] as const, ['42-pod-hostpath.yaml', false] as const]) {
      const [manifest] = manifestsOf(file)
      const name = manifest?.metadata.name ?? ''
      create(file)
      tools.wait('condition=Ready', `pod/${name}`)
      const [mount] = tools.get(`pod ${name}`).spec.containers[0].volumeMounts
      const touch = ['exec', name, '--', 'touch', `${mount.mountPath}/written`]
      if (expected) tools.run(touch)
      else assert.match(tools.refused(touch), /Read-only file system/)
      remove(name)
    }
  })

  test('46-pod-secret-env.yaml: it waits for its secret', () => {
    create('46-pod-secret-env.yaml')
    tools.wait('jsonpath={.status.containerStatuses[0].state.waiting.reason}=CreateContainerConfigError', 'pod/mypod')
    tools.ok('create secret generic mysecret --from-literal=username=admin --from-literal=password=123456')
    tools.wait('condition=Ready', 'pod/mypod')
    assert.equal(tools.run(['exec', 'mypod', '--', 'sh', '-c', 'echo $SECRET_USERANAME']).stdout, 'admin\n')
    remove('mypod')
  })

  test('48-serviceaccount-token.yaml: its pod waits for a secret that nobody has', () => {
    create('48-serviceaccount-token.yaml')
    event('FailedMount')
    const mounts = tools.get('pod podtoken').spec.containers[0].volumeMounts.map(({ name }: { name: string }) => name)
    assert.deepEqual(mounts, ['default-token-5pqqp'])
    remove('podtoken')
  })
})
