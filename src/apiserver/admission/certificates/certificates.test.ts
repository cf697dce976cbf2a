import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionPluginFactory } from '#apiserver/admission/admission.ts'
import { certificateApproval } from '#apiserver/admission/certificates/certificate-approval.ts'
import { certificateSigning } from '#apiserver/admission/certificates/certificate-signing.ts'
import { certificateSubjectRestriction } from '#apiserver/admission/certificates/certificate-subject-restriction.ts'
import { clusterTrustBundleAttest } from '#apiserver/admission/certificates/cluster-trust-bundle-attest.ts'
import { admissionResultOf, authorizerOf, type RequestOptions, testContext } from '#apiserver/admission/testing/admission.ts'
import { mastersRequest, userRequest } from '#apiserver/admission/testing/certificate-requests.ts'
import { defined } from '#base/defined.ts'

const requests = 'certificatesigningrequests.certificates.k8s.io'
const csr = (signerName: string, more: object = {}) => ({ metadata: { name: 'r' }, spec: { signerName, request: '' }, ...more })

/** Of somebody who may do these, written `verb signer`. */
const ask = (make: AdmissionPluginFactory, may: string[], options: RequestOptions, resource = requests) => {
  const authorizer = authorizerOf(
    ({ verb, name, resource: asked, group }) => asked === 'signers' && group === 'certificates.k8s.io' && may.includes(`${verb} ${name}`),
  )
  return admissionResultOf(make, testContext({}, { authorizer }), resource, options)
}

test('approval takes the permission for the signer, or for its whole domain', async () => {
  const approve = (...may: string[]) => {
    const options = { object: csr('a.b/other'), oldObject: csr('a.b/c'), subresource: 'approval' }
    return ask(certificateApproval, may, options)
  }
  assert.equal(await approve('approve a.b/c'), 'allowed')
  assert.equal(await approve('approve a.b/*'), 'allowed')
  const why = 'user not permitted to approve requests with signerName "a.b/c"'
  assert.equal(await approve('approve a.b/other', 'sign a.b/c'), `403 ${requests} "r" is forbidden: ${why}`)
})

test('signing takes the permission once certificate or conditions change', async () => {
  const sign = (status: object, ...may: string[]) => {
    const options = { object: csr('a.b/c', { status }), oldObject: csr('a.b/c'), subresource: 'status' }
    return ask(certificateSigning, may, options)
  }
  const why = `403 ${requests} "r" is forbidden: user not permitted to sign requests with signerName "a.b/c"`
  assert.equal(await sign({}), 'allowed')
  assert.equal(await sign({ certificate: 'x' }), why)
  assert.equal(await sign({ conditions: [{ type: 'Failed', status: 'True' }] }), why)
  assert.equal(await sign({ certificate: 'x' }, 'sign a.b/c'), 'allowed')
})

test('nobody asks for a certificate of the masters', async () => {
  const create = (signerName: string, request: string) =>
    ask(certificateSubjectRestriction, [], { object: { metadata: { name: 'r' }, spec: { signerName, request } } })
  const client = 'kubernetes.io/kube-apiserver-client'
  assert.equal(
    await create(client, mastersRequest),
    `403 ${requests} "r" is forbidden: use of ${client} signer with system:masters group is not allowed`,
  )
  assert.equal(await create(client, userRequest), 'allowed')
  assert.equal(await create('example.com/mine', mastersRequest), 'allowed')
  assert.match(await create(client, 'bm9uZQ=='), /failed to parse CSR: PEM block type must be CERTIFICATE REQUEST/)
})

test('trust anchors of a signer take the permission to speak for it', async () => {
  const bundles = 'clustertrustbundles.certificates.k8s.io'
  const bundle = (signerName: string | undefined, more: object = {}) => ({
    metadata: { name: 'b', ...more },
    spec: { trustBundle: 'x', ...defined({ signerName }) },
  })
  const why = `403 ${bundles} "b" is forbidden: user not permitted to attest for signerName "a.b/c"`
  assert.equal(await ask(clusterTrustBundleAttest, [], { object: bundle(undefined) }, bundles), 'allowed')
  assert.equal(await ask(clusterTrustBundleAttest, [], { object: bundle('a.b/c') }, bundles), why)
  assert.equal(await ask(clusterTrustBundleAttest, ['attest a.b/c'], { object: bundle('a.b/c') }, bundles), 'allowed')
  const collected = { object: bundle('a.b/c', { finalizers: ['x'] }), oldObject: bundle('a.b/c') }
  assert.equal(await ask(clusterTrustBundleAttest, [], collected, bundles), 'allowed')
})
