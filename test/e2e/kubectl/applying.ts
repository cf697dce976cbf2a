import assert from 'node:assert/strict'
import type { Chapter } from './session.ts'

const settings = (name: string, data: Record<string, string>, labels?: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(labels ? { labels } : {}) },
  data,
})

const web = (image: string, replicas?: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'applied', labels: { app: 'applied' } },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: 'applied' } },
    template: {
      metadata: { labels: { app: 'applied' } },
      spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 80 }] }] },
    },
  },
})

/** `kubectl apply`, on both sides. */
export const applying: Chapter = {
  name: 'applies: client side, server side, pruning, conflicts',
  isCore: true,
  run(session) {
    const path = session.file('applied.yaml', settings('one', { a: '1', b: '2' }), web('web:1', 2))
    session.prints(['apply', '-f', path], 'configmap/one created\ndeployment.apps/applied created')
    session.prints(['apply', '-f', path], 'configmap/one unchanged\ndeployment.apps/applied unchanged')
    session.file('applied.yaml', settings('one', { a: '1' }), web('web:2', 2))
    assert.match(session.fails(['diff', '-f', path], /^$/), /- {2}b: "2"/)
    session.prints(
      ['apply', '-f', path, '--dry-run=server'],
      'configmap/one configured (server dry run)\ndeployment.apps/applied configured (server dry run)',
    )
    session.prints(['apply', '-f', path], 'configmap/one configured\ndeployment.apps/applied configured')
    session.prints('get configmap one -o jsonpath={.data}', '{"a":"1"}')
    session.prints('get deployment applied -o jsonpath={.spec.template.spec.containers[0].image}', 'web:2')
    session.prints(['apply', 'view-last-applied', '-f', path], /image: web:2/)
    session.prints('apply set-last-applied -f - --create-annotation', 'configmap/one configured', {
      input: JSON.stringify(settings('one', { a: '1' })),
    })
    session.ok('create configmap unapplied --from-literal=a=1')
    session.prints('apply -f -', 'configmap/unapplied configured', {
      input: JSON.stringify(settings('unapplied', { a: '2' })),
      stderr:
        /^Warning: resource configmaps\/unapplied is missing the kubectl\.kubernetes\.io\/last-applied-configuration annotation which is required by kubectl apply\./,
    })

    const prunable = { pruned: 'yes' }
    const both = session.file('both.yaml', settings('kept', { a: '1' }, prunable), settings('goes', { a: '1' }, prunable))
    session.ok(['apply', '-f', both])
    session.file('both.yaml', settings('kept', { a: '1' }, prunable))
    session.prints(
      ['apply', '-f', both, '--prune', '-l', 'pruned=yes', '--prune-allowlist=core/v1/ConfigMap'],
      /configmap\/kept unchanged\nconfigmap\/goes pruned/,
    )
    session.fails('get configmap goes', /NotFound/)
    session.ok(['delete', '-f', both])
    session.ok(['delete', '-f', path])
  },
}

export const applyingServerSide: Chapter = {
  name: 'applies on the server: managers, conflicts, taking over',
  isCore: false,
  run(session) {
    const path = session.file('server-side.yaml', web('web:1', 2))
    session.prints(['apply', '--server-side', '-f', path], 'deployment.apps/applied serverside-applied')
    session.prints(
      ['apply', '--server-side', '--dry-run=server', '-f', path],
      'deployment.apps/applied serverside-applied (server dry run)',
    )
    session.prints(
      'get deployment applied --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}/{.metadata.managedFields[*].operation}',
      'kubectl/Apply',
    )
    session.fails(
      ['apply', '--server-side', '--field-manager=other', '-f', session.file('other.yaml', web('web:9'))],
      /Apply failed with 1 conflict: conflict with "kubectl": \.spec\.template\.spec\.containers\[name="web"\]\.image/,
    )
    session.ok(['apply', '--server-side', '--field-manager=other', '--force-conflicts', '-f', session.file('other.yaml', web('web:9'))])
    session.prints('get deployment applied -o jsonpath={.spec.replicas}:{.spec.template.spec.containers[0].image}', '2:web:9')
    session.ok('scale deployment applied --replicas=5')
    session.fails(['apply', '--server-side', '-f', path], /Apply failed with 2 conflicts?/)
    session.file('server-side.yaml', web('web:9'))
    session.ok(['apply', '--server-side', '-f', path])
    session.prints('get deployment applied -o jsonpath={.spec.replicas}', '5')
    session.prints(['diff', '--server-side', '-f', path], '')
    session.ok('delete deployment applied')
  },
}
