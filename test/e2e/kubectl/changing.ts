import assert from 'node:assert/strict'
import type { Chapter, Session } from './session.ts'

const settings = (data: Record<string, string>) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data })

/** Changes of single objects: labels, annotations, patches, the editor, replacing. */
export const changing: Chapter = {
  name: 'changes: label, annotate, patch, edit, replace, diff',
  isCore: false,
  run(session) {
    session.ok('create -f -', { input: JSON.stringify(settings({ a: '1' })) })
    session.prints('label configmap settings tier=web', 'configmap/settings labeled')
    session.fails('label configmap settings tier=db', /'tier' already has a value \(web\), and --overwrite is false/)
    session.prints('label configmap settings tier=db --overwrite', 'configmap/settings labeled')
    session.prints('label configmap settings tier-', 'configmap/settings unlabeled')
    session.prints(['annotate', 'configmap', 'settings', 'note=two words'], /^configmap\/settings annotated?$/m)
    session.prints('annotate configmap settings note-', /configmap\/settings annotated?/)
    session.prints('annotate configmaps --all seen=true', /configmap\/settings annotated?/)

    session.prints(['patch', 'configmap', 'settings', '-p', '{"data":{"b":"2"}}'], 'configmap/settings patched')
    session.prints(['patch', 'configmap', 'settings', '--type=merge', '-p', '{"data":{"a":null,"c":"3"}}'], 'configmap/settings patched')
    session.prints(
      ['patch', 'configmap', 'settings', '--type=json', '-p', '[{"op":"replace","path":"/data/b","value":"two"}]'],
      'configmap/settings patched',
    )
    session.prints(['patch', 'configmap', 'settings', '-p', '{"data":{"b":"two"}}'], 'configmap/settings patched (no change)')
    session.prints('get configmap settings -o jsonpath={.data}', '{"b":"two","c":"3"}')
    session.fails(
      ['patch', 'configmap', 'settings', '--type=json', '-p', '[{"op":"remove","path":"/data/none"}]'],
      /the server rejected our request due to an error in our request|Unable to remove nonexistent key/,
    )

    session.prints('edit configmap settings', 'configmap/settings edited', { environment: session.editor('swap', 's/b: two/b: second/') })
    session.prints('get configmap settings -o jsonpath={.data.b}', 'second')
    session.ok('edit configmap settings', { environment: session.editor('nothing', ''), stderr: 'Edit cancelled, no changes made.\n' })

    const replacement = session.file('replacement.yaml', settings({ only: 'this' }))
    session.prints(['replace', '-f', replacement], 'configmap/settings replaced')
    session.prints('get configmap settings -o jsonpath={.data}', '{"only":"this"}')
    const uid = session.ok('get configmap settings -o jsonpath={.metadata.uid}')
    session.prints(['replace', '--force', '-f', replacement], 'configmap "settings" deleted\nconfigmap/settings replaced', forced(session))
    assert.notEqual(session.ok('get configmap settings -o jsonpath={.metadata.uid}'), uid)
    const stale = { ...settings({ only: 'that' }), metadata: { name: 'settings', resourceVersion: '1' } }
    session.fails(
      'replace -f -',
      /Error from server \(Conflict\): .*Operation cannot be fulfilled on configmaps "settings": the object has been modified/,
      {
        input: JSON.stringify(stale),
      },
    )

    assert.match(
      session.fails(['diff', '-f', session.file('wanted.yaml', settings({ only: 'those' }))], /^$/),
      /- {2}only: this\n\+ {2}only: those/,
    )
    assert.equal(session.ok(['diff', '-f', replacement]), '')
    session.ok('delete configmap settings')
  },
}

/** Newer ones say the namespace too. */
function forced(_session: Session) {
  return {}
}

/** Workloads: scale, images, rollouts that the test moves along as controllers would. */
export const rollingOut: Chapter = {
  name: 'rolls out: scale, set, autoscale, status, history, undo, restart',
  isCore: false,
  async run(session) {
    session.ok('create deployment web --image=web:1 --replicas=2')
    session.prints('scale deployment web --replicas=3', 'deployment.apps/web scaled')
    session.fails('scale deployment web --replicas=4 --current-replicas=9', /Expected replicas to be 9, was 3/)
    session.prints('get deployment web -o jsonpath={.spec.replicas}/{.metadata.generation}', '3/2')
    asController(session, 'web', 1, 'web:1')
    session.prints('rollout status deployment/web', 'deployment "web" successfully rolled out')

    session.prints('set image deployment/web web=web:2', 'deployment.apps/web image updated')
    session.ok(['annotate', 'deployment/web', 'kubernetes.io/change-cause=second image'])
    const waiting = session.background('rollout status deployment/web --timeout=200s')
    await waiting.until(/Waiting for deployment spec update to be observed|Waiting for deployment "web" rollout to finish/)
    asController(session, 'web', 2, 'web:2')
    await waiting.until(/deployment "web" successfully rolled out/)
    assert.equal(await waiting.ended(), 0)
    session.prints('rollout history deployment/web', /^deployment\.apps\/web ?\nREVISION +CHANGE-CAUSE\n1 +<none>\n2 +second image\n/)
    session.prints('rollout history deployment/web --revision=2', /Image:\s+web:2/)
    session.prints('rollout undo deployment/web', 'deployment.apps/web rolled back')
    session.prints('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}', 'web:1')
    session.prints('rollout pause deployment/web', 'deployment.apps/web paused')
    session.prints('rollout resume deployment/web', 'deployment.apps/web resumed')
    session.prints('rollout restart deployment/web', 'deployment.apps/web restarted')
    session.prints('get deployment web -o jsonpath={.spec.template.metadata.annotations}', /kubectl\.kubernetes\.io\/restartedAt/)

    session.prints('set env deployment/web COLOUR=blue', 'deployment.apps/web env updated')
    session.prints('set env deployment/web --list', /COLOUR=blue/)
    session.prints(
      'set resources deployment/web --requests=cpu=100m --limits=memory=64Mi',
      'deployment.apps/web resource requirements updated',
    )
    session.prints('set serviceaccount deployment/web default', 'deployment.apps/web serviceaccount updated')
    session.prints(
      'autoscale deployment web --min=1 --max=5 --cpu-percent=80',
      'horizontalpodautoscaler.autoscaling/web autoscaled',
      deprecatedFlag(session),
    )
    session.prints('get hpa web', /web +Deployment\/web +cpu: <unknown>\/80% +1 +5 +0 +/)
    session.prints('get replicasets', /web-1 +3 +3 +3 +/)
    session.prints('get rs web-1 -o wide', /web +web:1 +app=web,pod-template-hash=1/)
    session.ok('delete deployment web --cascade=orphan --wait=false')
    session.prints('get deployment web -o jsonpath={.metadata.finalizers}', '["orphan"]')
    session.ok(['patch', 'deployment', 'web', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
    session.fails('get deployment web', /NotFound/)
    session.prints('get replicasets -o name', /replicaset\.apps\/web-1\nreplicaset\.apps\/web-2/)
    session.ok('delete replicasets,hpa --all')
  },
}

function deprecatedFlag({ minor }: Session) {
  return minor >= 34 ? { stderr: /deprecated/ } : {}
}

/** A ReplicaSet for a revision, and the deployment's status once that revision is out. */
function asController(session: Session, name: string, revision: number, image: string): void {
  // A change of annotations is a generation of its own.
  session.ok(`annotate deployment ${name} --overwrite deployment.kubernetes.io/revision=${revision}`)
  const deployment = session.json<{
    metadata: { uid: string; generation: number }
    spec: { replicas: number; template: { metadata: { labels: Record<string, string> }; spec: object } }
  }>(`get deployment ${name}`)
  const { uid, generation } = deployment.metadata
  const { replicas, template } = deployment.spec
  const labels = { ...template.metadata.labels, 'pod-template-hash': String(revision) }
  const cause = session.ok(`get deployment ${name} -o jsonpath={.metadata.annotations.kubernetes\\.io/change-cause}`)
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${revision}`,
      labels,
      annotations: {
        'deployment.kubernetes.io/revision': String(revision),
        ...(cause === '' ? {} : { 'kubernetes.io/change-cause': cause }),
      },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: template.spec } },
  }
  session.ok('create -f -', { input: JSON.stringify(replicaSet) })
  const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas }
  const status = { ...counts, fullyLabeledReplicas: replicas, observedGeneration: 1 }
  session.ok(['patch', 'replicaset', `${name}-${revision}`, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })])
  assert.equal(session.ok(`get replicaset ${name}-${revision} -o jsonpath={.spec.template.spec.containers[0].image}`), image)
  const rolledOut = { status: { ...counts, updatedReplicas: replicas, observedGeneration: generation } }
  session.ok(['patch', 'deployment', name, '--subresource=status', '--type=merge', '-p', JSON.stringify(rolledOut)])
}
