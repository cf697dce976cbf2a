import assert from 'node:assert/strict'
import type { Chapter, Session } from './session.ts'

const pod = (name: string, labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { nodeName: 'node-1', containers: [{ name: 'web', image: 'web:1' }] },
})

/** `kubectl get` in every form, and describe. */
export const reading: Chapter = {
  name: 'reads: tables, formats, selectors, sorting, watching, describing',
  isCore: true,
  async run(session) {
    const path = session.file('pods.yaml', pod('b', { app: 'shop', tier: 'web' }), pod('a', { app: 'shop' }), pod('c', { app: 'mail' }))
    session.ok(['create', '-f', path])
    session.prints(
      'get pods -l app',
      /^NAME +READY +STATUS +RESTARTS +AGE\na +0\/1 +Pending +0 +\d+s\nb +0\/1 +Pending +0 +\d+s\nc +0\/1 +Pending +0 +\d+s$/m,
    )
    session.prints(
      'get pods a -o wide',
      /NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\na +0\/1 +Pending +0 +\d+s +<none> +node-1 +<none> +<none>/,
    )
    session.prints('get pods -l app=shop --no-headers', /^a .*\nb .*\n$/)
    session.prints('get pods -l app=shop --show-labels', /app=shop,tier=web/)
    session.prints('get pods -l app -L tier', /TIER\n/)
    session.prints('get pods -l app=shop -o name', 'pod/a\npod/b')
    session.prints(['get', 'pods', '-l', 'app in (shop,mail),!tier', '-o', 'name'], 'pod/a\npod/c')
    session.prints('get pods --field-selector=metadata.name=b -o name', 'pod/b')
    session.prints('get pods -l app --field-selector=status.phase=Pending,spec.nodeName=node-1,metadata.name!=b -o name', 'pod/a\npod/c')
    session.fails('get pods --field-selector=spec.nothing=1', /field label not supported: spec\.nothing/)
    session.prints('get pods -l app --sort-by=.metadata.creationTimestamp -o name', /pod\/a/)
    session.prints('get pods -l app --sort-by={.metadata.labels.app} -o name', /^pod\/c\n/)
    session.prints('get pods -A -l app=mail', new RegExp(`^NAMESPACE +NAME.*\\n(.*\\n)*${session.namespace} +c `))
    session.prints(
      ['get', 'pods', '-l', 'app', '-o', 'jsonpath={range .items[*]}{.metadata.name}={.spec.containers[0].image}{"\\n"}{end}'],
      'a=web:1\nb=web:1\nc=web:1',
    )
    session.prints(
      'get pods -l app -o custom-columns=NAME:.metadata.name,APP:.metadata.labels.app',
      'NAME   APP\na      shop\nb      shop\nc      mail',
    )
    session.prints(['get', 'pod', 'a', '-o', 'go-template={{.metadata.name}}'], 'a')
    session.prints('get pod a -o yaml', /^apiVersion: v1\nkind: Pod\nmetadata:\n/)
    assert.equal((JSON.parse(session.ok('get pods -l app -o json')) as { kind: string; items: object[] }).items.length, 3)
    session.prints('get pods,serviceaccounts --no-headers -l app=mail', /^pod\/c /)
    session.prints('get pods -l app --chunk-size=1 -o name', 'pod/a\npod/b\npod/c')
    session.prints('get pods -l app=nothing', '', { stderr: `No resources found in ${session.namespace} namespace.\n` })
    session.ok(['get', '-f', path])
    session.prints('describe pod b', /Name: +b\nNamespace: +with-[\d-]+\n(.*\n)*Labels: +app=shop\n +tier=web\n(.*\n)*Events: +<none>/)
    session.prints('describe pods -l app=shop', /Name: +a(.*\n)*.*Name: +b/)
    session.prints(`describe namespace ${session.namespace}`, /Status: +Active/)
    await watching(session)
    session.ok(['delete', '--force', '--grace-period=0', '-f', path], {
      stderr:
        /^Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated\. The resource may continue to run on the cluster indefinitely\.\n$/,
    })
  },
}

async function watching(session: Session): Promise<void> {
  const all = session.background('get pods -l app --watch --no-headers')
  await all.until(/^c .*\n/m)
  const named = session.background('get pod a --watch-only -o name')
  const events = session.background('get pods -l app --watch --output-watch-events')
  await events.until(/^ADDED +c /m)
  session.ok(['patch', 'pod', 'c', '--subresource=status', '--type=merge', '-p', '{"status":{"phase":"Running"}}'])
  await all.until(/^c +0\/1 +Running/m)
  await events.until(/^MODIFIED +c +0\/1 +Running/m)
  // It may not watch yet: only what changes from then on is told.
  for (let times = 1; !named.hasSaid(/pod\/a/); times++) {
    session.ok(`label pod a seen=${times} --overwrite`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  session.ok('label pod b app-')
  await events.until(/^DELETED +b /m)
  session.ok('label pod b app=shop')
  await events.until(/^DELETED +b (.*\n)*ADDED +b /m)
  for (const each of [all, named, events]) await each.end()
}
