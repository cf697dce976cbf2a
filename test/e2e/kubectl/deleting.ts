import assert from 'node:assert/strict'
import type { Chapter } from './session.ts'

/** Deleting and waiting. */
export const deleting: Chapter = {
  name: 'deletes and waits: cascades, finalizers, graceful pods, conditions',
  isCore: false,
  async run(session) {
    const { minor } = session
    session.ok('create configmap plain --from-literal=a=1')
    session.prints(
      'delete configmap plain',
      minor >= 33 ? `configmap "plain" deleted${minor >= 34 ? ` from ${session.namespace} namespace` : ''}` : 'configmap "plain" deleted',
    )
    session.fails('delete configmap plain', /configmaps "plain" not found/)
    session.prints('delete configmap plain --ignore-not-found', '')

    session.ok('create deployment gone --image=web:1')
    session.prints('delete deployment gone --cascade=background --dry-run=server', /deployment\.apps "gone" deleted.*\(server dry run\)/)
    session.ok('delete deployment gone --cascade=background')
    session.ok('create deployment kept --image=web:1')
    session.ok('delete deployment kept --cascade=foreground --wait=false')
    session.prints('get deployment kept -o jsonpath={.metadata.finalizers}', '["foregroundDeletion"]')
    session.ok(['patch', 'deployment', 'kept', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
    session.fails('get deployment kept', /NotFound/)

    session.ok('create configmap held --from-literal=a=1')
    session.ok(['patch', 'configmap', 'held', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}'])
    const waiting = session.background('delete configmap held --wait=true')
    await waiting.until(/"held" deleted/)
    session.prints('get configmap held -o jsonpath={.metadata.deletionTimestamp}', /^\d{4}-/)
    session.ok(['patch', 'configmap', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
    assert.equal(await waiting.ended(), 0)

    session.ok('run graceful --image=web:1 --overrides={"spec":{"nodeName":"node-1"}}')
    session.ok('delete pod graceful --wait=false')
    session.prints('get pod graceful', /graceful +0\/1 +Terminating/)
    session.prints('get pod graceful -o jsonpath={.metadata.deletionGracePeriodSeconds}', '30')
    session.ok('delete pod graceful --grace-period=0 --force', { stderr: /^Warning: Immediate deletion does not wait/ })
    session.ok('run unbound --image=web:1')
    session.ok('delete pod unbound --now')
    session.fails('get pod unbound', /NotFound/)
    await waitingFor(session)
    session.ok('create configmap many --from-literal=a=1')
    session.prints('delete configmaps --all', /configmap "many" deleted/)
  },
}

async function waitingFor(session: Parameters<Chapter['run']>[0]): Promise<void> {
  session.ok('run awaited --image=web:1')
  const ready = session.background('wait pod/awaited --for=condition=Ready --timeout=200s')
  const gone = session.background('wait pod/awaited --for=delete --timeout=200s -v=6')
  const running = session.background('wait pod/awaited --for=jsonpath={.status.phase}=Running --timeout=200s')
  session.fails('wait pod/awaited --for=condition=Ready --timeout=1s', /timed out waiting for the condition on pods\/awaited/)
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
  session.ok(['patch', 'pod', 'awaited', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })])
  await ready.until(/pod\/awaited condition met/)
  await running.until(/pod\/awaited condition met/)
  // Whoever begins to wait once it is gone says nothing.
  await gone.until(/\/pods\/awaited.*200 OK/)
  session.ok('delete pod awaited --now')
  await gone.until(/pod\/awaited condition met/)
  for (const each of [ready, gone, running]) assert.equal(await each.ended(), 0)
}
