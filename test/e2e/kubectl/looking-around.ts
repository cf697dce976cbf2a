import assert from 'node:assert/strict'
import type { Chapter } from './session.ts'

/** What there is to know before any object exists: the server, its kinds, who one is. */
export const lookingAround: Chapter = {
  name: 'looks around: versions, kinds, permissions, configuration',
  isCore: true,
  run(session) {
    // A client that old says so, whatever the server.
    session.prints('version -o json', /"gitVersion": "v1\.36\./, {
      stderr:
        /^(WARNING: version difference between client \(1\.\d+\) and server \(1\.36\) exceeds the supported minor version skew of \+\/-1\n)?$/,
    })
    session.prints('cluster-info', /Kubernetes control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/)
    session.prints('config view', /server: https:\/\/127\.0\.0\.1:/)
    session.prints('config current-context', 'typernetes')
    session.prints('config get-contexts -o name', 'typernetes')

    const versions = session.ok('api-versions').trim().split('\n')
    for (const version of ['v1', 'apps/v1', 'batch/v1', 'networking.k8s.io/v1', 'rbac.authorization.k8s.io/v1', 'storage.k8s.io/v1']) {
      assert.ok(versions.includes(version), `api-versions has ${version}: ${versions}`)
    }
    session.prints('api-resources', /deployments +deploy +apps\/v1 +true +Deployment/)
    session.prints('api-resources -o name --namespaced=false', /^nodes$/m)
    session.prints(
      'api-resources -o wide --api-group=apps',
      /deployments +deploy +apps\/v1 +true +Deployment +create,delete,deletecollection,get,list,patch,update,watch +all/,
    )
    session.prints('api-resources --verbs=list --categories=all -o name', /^pods$/m)

    session.prints('auth can-i create pods', 'yes')
    session.prints('auth can-i * * --all-namespaces', 'yes')
    assert.equal(session.fails('auth can-i create pods --as=nobody', /^$/).trim(), 'no')
    session.prints('auth can-i --list --as=nobody', /selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]/)
    if (session.minor >= 28) session.prints('auth whoami', /Username +kubernetes-admin/)

    session.prints('get --raw /healthz', 'ok')
    session.prints('get --raw /livez?verbose', /\[\+\]ping ok/)
    session.prints(`get --raw /api/v1/namespaces/${session.namespace}`, /^\{"kind":"Namespace","apiVersion":"v1"/)
    session.fails('get --raw /nowhere', /the server could not find the requested resource/)
    session.fails('get unheardof', /error: the server doesn't have a resource type "unheardof"/)
    session.fails('get pods missing', /Error from server \(NotFound\): pods "missing" not found/)
  },
}
