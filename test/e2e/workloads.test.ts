/** Workloads as a user of kubectl sees them, on a cluster whose nodes are simulated. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { installedKubectls, type Kubectl, kubectl } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { testSameEverywhere } from '../support/same-everywhere.ts'

const newest = installedKubectls().at(-1)

describe('workloads by kubectl', { skip: newest === undefined && 'kubectl is not installed' }, () => {
  let cluster: RunningCluster | undefined
  let client: Kubectl

  before(async () => {
    if (newest === undefined) return
    cluster = await startCluster(['--store', 'memory', '--sim-nodes', '3'])
    client = kubectl(newest.path, newest.version, cluster.kubeconfig)
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  const run = (command: string, input?: object): string => {
    const given = input === undefined ? {} : { input: JSON.stringify(input) }
    const { exitCode, stdout, stderr } = client.run(command.split(' '), given)
    assert.equal(exitCode, 0, `kubectl ${command}\n${stdout}\n${stderr}`)
    return stdout.trim()
  }
  const lines = (command: string): string[] =>
    run(command)
      .split('\n')
      .filter((line) => line !== '')
      .sort()
  const image = (name: string) => run(`get deployment ${name} -o jsonpath={.spec.template.spec.containers[0].image}`)
  /** A controller writes down a moment later what changed. */
  const says = (command: string, expected: RegExp) => {
    for (const endMs = performance.now() + 60_000; !expected.test(run(command)); )
      if (performance.now() > endMs) assert.match(run(command), expected)
  }
  const waitGone = (what: string) => run(`wait --for=delete ${what} --timeout=60s`)

  testSameEverywhere(test, (args, input) => client.run(args, input === undefined ? {} : { input }))

  test('a deployment is created, rolled, undone and scaled', () => {
    run('create deployment web --image=app:1 --replicas=3')
    assert.match(run('rollout status deployment/web --timeout=60s'), /successfully rolled out/)
    run('set image deployment/web app=app:2')
    run('rollout status deployment/web --timeout=60s')
    assert.equal(image('web'), 'app:2')
    // A rollout does not wait for the last pods of before to be gone.
    const images = () => lines('get pods -l app=web -o jsonpath={range.items[*]}{.spec.containers[0].image}{"\\n"}{end}').join()
    for (const endMs = performance.now() + 60_000; images() !== 'app:2,app:2,app:2'; ) assert.ok(performance.now() < endMs, images())
    run('annotate deployment/web kubernetes.io/change-cause=second')
    says('rollout history deployment/web', /1 +<none>\n2 +second/)
    assert.match(run('rollout undo deployment/web'), /rolled back/)
    run('rollout status deployment/web --timeout=60s')
    assert.equal(image('web'), 'app:1')
    // The first revision is the third now.
    says('rollout history deployment/web', /2 +second\n3 +<none>/)
    run('rollout undo deployment/web --to-revision=2')
    run('rollout status deployment/web --timeout=60s')
    assert.equal(image('web'), 'app:2')
    run('scale deployment/web --replicas=5')
    run('wait --for=jsonpath={.status.availableReplicas}=5 deployment/web --timeout=60s')
    run('scale deployment/web --replicas=1')
    run('wait --for=jsonpath={.status.replicas}=1 deployment/web --timeout=60s')
    run('rollout restart deployment/web')
    run('rollout status deployment/web --timeout=60s')
    says('get events --field-selector involvedObject.name=web -o jsonpath={.items[*].reason}', /ScalingReplicaSet/)
  })

  test('a paused deployment does not roll until it is resumed', () => {
    run('create deployment calm --image=app:1')
    run('rollout status deployment/calm --timeout=60s')
    run('rollout pause deployment/calm')
    run('set image deployment/calm app=app:2')
    run('wait --for=jsonpath={.status.observedGeneration}=3 deployment/calm --timeout=60s')
    assert.equal(lines('get replicasets -l app=calm -o name').length, 1)
    run('rollout resume deployment/calm')
    run('rollout status deployment/calm --timeout=60s')
    assert.equal(lines('get replicasets -l app=calm -o name').length, 2)
  })

  test('deleting in the background, in the foreground, and leaving orphans', () => {
    for (const cascade of ['background', 'foreground', 'orphan']) {
      const name = `with-${cascade}`
      run(`create deployment ${name} --image=app:1 --replicas=2`)
      run(`rollout status deployment/${name} --timeout=60s`)
      const pods = lines(`get pods -l app=${name} -o name`)
      assert.equal(pods.length, 2)
      run(`delete deployment ${name} --cascade=${cascade} --timeout=60s`)
      assert.equal(run(`get deployment ${name} --ignore-not-found -o name`), '')
      if (cascade === 'orphan') {
        assert.deepEqual(lines(`get pods -l app=${name} -o name`), pods)
        const [set] = lines(`get replicasets -l app=${name} -o name`)
        assert.equal(run(`get ${set} -o jsonpath={.metadata.ownerReferences}`), '')
        run(`delete ${set} --timeout=60s`)
      }
      // In the foreground nothing is left by the time the owner is gone.
      if (cascade === 'foreground') assert.deepEqual(lines(`get replicasets,pods -l app=${name} -o name`), [])
      for (const pod of pods) waitGone(pod)
    }
  })

  const template = (app: string, extra: object = {}, annotations: object = {}) => ({
    metadata: { labels: { app }, annotations },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'app:1' }], ...extra },
  })
  const selector = (app: string) => ({ matchLabels: { app } })
  const finishing = { 'sim.typernetes.dev/exit-after': '300ms' }

  test('a stateful set keeps names and claims, rolls from the last pod down, and is undone', () => {
    run('create service clusterip db --clusterip=None')
    const claim = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
    run('apply -f -', {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db' },
      spec: { serviceName: 'db', replicas: 3, selector: selector('db'), template: template('db') },
    })
    run('rollout status statefulset/db --timeout=60s')
    assert.deepEqual(lines('get pods -l app=db -o name'), ['pod/db-0', 'pod/db-1', 'pod/db-2'])
    run('set image statefulset/db main=app:2')
    run('rollout status statefulset/db --timeout=60s')
    assert.equal(run('get pods -l app=db -o jsonpath={.items[*].spec.containers[0].image}'), 'app:2 app:2 app:2')
    run('rollout undo statefulset/db')
    run('rollout status statefulset/db --timeout=60s')
    assert.equal(run('get pods -l app=db -o jsonpath={.items[*].spec.containers[0].image}'), 'app:1 app:1 app:1')
    run('scale statefulset/db --replicas=1')
    run('wait --for=jsonpath={.status.replicas}=1 statefulset/db --timeout=60s')
    assert.deepEqual(lines('get pods -l app=db -o name'), ['pod/db-0'])
    run('apply -f -', {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'kept' },
      spec: { serviceName: 'db', replicas: 1, selector: selector('kept'), template: template('kept'), volumeClaimTemplates: [claim] },
    })
    run('wait --for=create persistentvolumeclaim/data-kept-0 --timeout=60s')
    run('delete statefulset db kept --timeout=60s')
    assert.deepEqual(lines('get persistentvolumeclaims -o name'), ['persistentvolumeclaim/data-kept-0'])
  })

  test('a daemon set has a pod on every node, and rolls', () => {
    run('apply -f -', {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent' },
      spec: { selector: selector('agent'), template: template('agent') },
    })
    run('rollout status daemonset/agent --timeout=60s')
    const nodes = lines('get pods -l app=agent -o jsonpath={range.items[*]}{.spec.nodeName}{"\\n"}{end}')
    assert.equal(new Set(nodes).size, 3)
    run('set image daemonset/agent main=app:2')
    run('rollout status daemonset/agent --timeout=60s')
    assert.equal(run('get pods -l app=agent -o jsonpath={.items[*].spec.containers[0].image}'), 'app:2 app:2 app:2')
    run('rollout undo daemonset/agent')
    run('rollout status daemonset/agent --timeout=60s')
    says('rollout history daemonset/agent', /2 .*\n3 /)
    run('delete daemonset agent --timeout=60s')
    waitGone('pod -l app=agent')
  })

  test('a job completes, one that fails gives up, and a cron job makes jobs', () => {
    const job = (name: string, spec: object) => ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec })
    run('apply -f -', job('sum', { completions: 3, parallelism: 2, template: template('sum', { restartPolicy: 'Never' }, finishing) }))
    run('wait --for=condition=Complete job/sum --timeout=60s')
    assert.equal(run('get job sum -o jsonpath={.status.succeeded}'), '3')
    const failing = { ...finishing, 'sim.typernetes.dev/exit-code': '1' }
    run('apply -f -', job('broken', { backoffLimit: 0, template: template('broken', { restartPolicy: 'Never' }, failing) }))
    run('wait --for=condition=Failed job/broken --timeout=60s')
    assert.match(run('get job broken -o jsonpath={.status.conditions[*].reason}'), /BackoffLimitExceeded/)
    run('apply -f -', {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'tick' },
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: template('tick', { restartPolicy: 'Never' }, finishing) } } },
    })
    run('create job --from=cronjob/tick by-hand')
    run('wait --for=condition=Complete job/by-hand --timeout=60s')
    run('delete cronjob tick --timeout=60s')
    waitGone('job/by-hand')
    run('delete job sum broken --timeout=60s')
    waitGone('pod -l app=sum')
  })

  test('a namespace goes with everything in it', () => {
    run('create namespace doomed')
    run('create deployment web --image=app:1 --replicas=2 -n doomed')
    run('create configmap settings --from-literal=a=b -n doomed')
    run('create service clusterip web --tcp=80 -n doomed')
    run('create job once --image=app:1 -n doomed')
    run('rollout status deployment/web -n doomed --timeout=60s')
    run('delete namespace doomed --timeout=60s')
    assert.equal(run('get all,configmaps,serviceaccounts,endpointslices -n doomed --ignore-not-found -o name'), '')
  })
})
