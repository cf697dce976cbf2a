import assert from 'node:assert/strict'
import type { Chapter } from './session.ts'

/** What kubectl reads from the OpenAPI documents: what fields there are, and what they mean. */
export const explaining: Chapter = {
  name: 'explains every kind',
  isCore: false,
  run(session) {
    const kinds = session
      .ok('api-resources --no-headers')
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/))
      .map((columns) => ({ resource: columns[0] ?? '', apiVersion: columns.at(-3) ?? '', kind: columns.at(-1) ?? '' }))
    assert.ok(kinds.length > 60, `${kinds.length} kinds`)
    // The documents are the same for all versions; each kind takes kubectl a while.
    const explained = session.isNewest ? kinds : kinds.filter((_, index) => index % 8 === 0)
    for (const { resource, apiVersion, kind } of explained) {
      const shown = session.ok(`explain ${resource} --api-version=${apiVersion} --recursive`)
      assert.match(shown, new RegExp(`^KIND: +${kind}$`, 'm'), `${resource} of ${apiVersion}`)
      assert.match(shown, /^ {2}kind\t<string>$/m, `${resource} of ${apiVersion}`)
    }
    session.prints(
      'explain deployment.spec.strategy',
      /type\t<string>(?:\n.*)*\n {4}Type of deployment\. Can be "Recreate" or "RollingUpdate"/,
    )
    session.prints('explain pods.spec.containers.resources.limits', /FIELD: limits <map\[string\]Quantity>/)
    session.prints('explain pods.spec.containers.ports', /containerPort\t<integer> -required-/)
    session.prints('explain pods --output=plaintext-openapiv2', /^KIND: +Pod$/m)
    session.fails('explain pods.spec.nothing', /field "nothing" does not exist/)
  },
}
