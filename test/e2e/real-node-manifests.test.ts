/** Manifests as people have them lying about, in real containers: each does what its row in test/manifests/README.md says. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'
import { directory, ManifestTools, manifestsOf, type Seen } from './manifests/manifest-tools.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined && 'kubectl is not installed')

describe('manifests, on a real node', { skip: whyNot, timeout: 600_000 }, () => {
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

  test('10-pod-probes-resources.yaml: containers whose liveness fails are restarted, one that is ready is so', () => {
    for (const manifest of manifestsOf('10-pod-probes-resources.yaml') as Seen[]) {
      const [container] = manifest.spec.containers
      // Of the image that is here, probed each second: the file's own periods take a minute and a half.
      Object.assign(container, { image: 'typernetes.test/busybox:1' })
      container.command ??= ['httpd', '-f', '-p', '80', '-h', '/tmp']
      Object.assign(container.livenessProbe ?? {}, { initialDelaySeconds: 1, periodSeconds: 1, failureThreshold: 1 })
      manifest.spec.terminationGracePeriodSeconds = 1
      tools.ok('create -f -', JSON.stringify(manifest))
    }
    tools.wait('condition=Ready', 'pod/readiness-tcp')
    for (const name of ['liveness-exec', 'liveness-http'])
      tools.wait('jsonpath={.status.containerStatuses[0].lastState.terminated}', `pod/${name}`)
    const restarts = (name: string): number => tools.get(`pod ${name}`).status.containerStatuses[0].restartCount
    assert.ok(restarts('liveness-exec') > 0 && restarts('liveness-http') > 0)
    assert.deepEqual([restarts('readiness-tcp'), tools.get('pod db').status.qosClass], [0, 'Burstable'])
    remove('liveness-exec', 'liveness-http', 'readiness-tcp', 'db')
  })

  test('17-service-external-endpoints.yaml: the service leads out of the cluster, to the address of its endpoints', () => {
    const address = (action: string) => spawnSync('ip', ['address', action, '192.168.3.180/32', 'dev', 'lo'])
    assert.equal(address('add').status, 0)
    try {
      const serve = 'mkdir /www; echo mysql > /www/index.html; exec httpd -f -p 192.168.3.180:3060 -h /www'
      const spec = { hostNetwork: true, containers: [{ name: 'c', image: 'typernetes.test/busybox:1', command: ['sh', '-c', serve] }] }
      tools.ok('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'outside' }, spec }))
      tools.ok('run client --image=typernetes.test/busybox:1 --command -- sleep 3600')
      tools.ok(`create -f ${tools.path('17-service-external-endpoints.yaml')}`)
      tools.wait('condition=Ready', 'pod/outside pod/client')
      const { clusterIP } = tools.get('service mysql').spec
      const ask = `until printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${clusterIP} 3036 | grep mysql; do sleep 0.1; done`
      assert.equal(tools.run(['exec', 'client', '--', 'sh', '-c', ask]).stdout, 'mysql\n')
      tools.ok(`delete -f ${tools.path('17-service-external-endpoints.yaml')}`)
      remove('outside', 'client')
    } finally {
      address('del')
    }
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

  test('21-volumes.yaml, 43-pod-nfs.yaml and 44-pod-volumes-named-only.yaml: pods wait for servers that are not there, and go when told to', () => {
    // The claim is for the volume of the file, not for one that the cluster would make.
    const isDefault = (value: boolean) =>
      tools.ok(`annotate storageclass standard storageclass.kubernetes.io/is-default-class=${value} --overwrite`)
    isDefault(false)
    for (const file of ['21-volumes.yaml', '43-pod-nfs.yaml', '44-pod-volumes-named-only.yaml']) create(file)
    tools.wait('jsonpath={.spec.volumeName}=nfspv', 'pvc/testpvc')
    tools.wait('condition=Ready', 'pod/poddownward')
    assert.equal(tools.ok('exec poddownward -- cat /etc/podinfo/labels'), 'app="poddownward"')
    const waiting = ['busybox', 'podnfs', 'podiscsi', 'podglusterfs', 'podrbd', 'podgitrepo']
    for (const pod of waiting) tools.wait('create', `events --field-selector reason=FailedMount,involvedObject.name=${pod}`)
    remove('poddownward', ...waiting)
    tools.ok('delete pvc/testpvc pv/nfspv --timeout=60s')
    isDefault(true)
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
