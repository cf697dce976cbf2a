import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientSubject } from '#cmd/certs/client-subject.ts'

test('certificates carry the names and groups that the default roles are bound to', () => {
  assert.deepEqual(clientSubject('admin', undefined, []).subject, { commonName: 'kubernetes-admin', organizations: ['system:masters'] })
  assert.deepEqual(clientSubject('proxy', undefined, []).subject.commonName, 'system:kube-proxy')
  assert.deepEqual(clientSubject('node', 'n1', []), {
    ...{ file: 'n1', subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] } },
  })
  assert.deepEqual(clientSubject('user', 'jane', ['dev']).subject, { commonName: 'jane', organizations: ['dev'] })
  assert.throws(() => clientSubject('user', undefined, []), /give a name/)
  assert.throws(() => clientSubject('user', '../x', []), /cannot be the name of a file/)
  assert.throws(() => clientSubject('robot', 'x', []), /none of user, node, admin, proxy/)
})
