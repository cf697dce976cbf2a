import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdmissionChain, type AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { readAdmissionConfiguration } from '#apiserver/admission/configuration.ts'
import { admissionPlugins } from '#apiserver/admission/plugins.ts'
import { aPod, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import { defined } from '#base/defined.ts'

const names = (choice: { enable?: string[]; disable?: string[] }, featureGates = '') =>
  admissionPlugins({ enable: [], disable: [], ...choice }, testContext({}, { featureGates })).map(({ name }) => name)

test('the plugins that are on by default run in the order of v1.36', () => {
  assert.deepEqual(names({}), [
    ...['NamespaceLifecycle', 'LimitRanger', 'ServiceAccount', 'TaintNodesByCondition', 'PodSecurity', 'Priority'],
    ...['DefaultTolerationSeconds', 'DefaultStorageClass', 'StorageObjectInUseProtection', 'PersistentVolumeClaimResize', 'RuntimeClass'],
    ...['CertificateApproval', 'CertificateSigning', 'CertificateSubjectRestriction', 'DefaultIngressClass', 'PodTopologyLabels'],
    ...['NodeDeclaredFeatureValidator', 'PodResizeValidator', 'MutatingAdmissionPolicy', 'MutatingAdmissionWebhook'],
    ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionWebhook', 'ResourceQuota'],
  ])
})

test('a plugin that is asked for takes its place in the order, one that is not wanted leaves', () => {
  const chosen = names({ enable: ['AlwaysPullImages', 'NodeRestriction'], disable: ['PodSecurity'] })
  assert.deepEqual(chosen.slice(2, 6), ['ServiceAccount', 'NodeRestriction', 'TaintNodesByCondition', 'AlwaysPullImages'])
  assert.ok(!chosen.includes('PodSecurity'))
})

test('a plugin whose gate is off does not run, even if it is asked for', () => {
  assert.ok(!names({ enable: ['PodGroupProtection'] }).includes('PodGroupProtection'))
  assert.ok(names({}, 'GenericWorkload=true').includes('PodGroupProtection'))
})

test('a name nobody knows is an error that lists those that are known', () => {
  assert.throws(
    () => names({ enable: ['PodSecurityy'] }),
    /^Error: --enable-admission-plugins: there is no plugin "PodSecurityy"; there are AlwaysAdmit, .*PodSecurity, .*AlwaysDeny$/,
  )
  assert.throws(() => names({ disable: ['nope'] }), /--disable-admission-plugins: there is no plugin "nope"/)
  assert.throws(() => names({ enable: ['Priority'], disable: ['Priority'] }), /Priority in enable-admission-plugins and disable/)
  assert.doesNotThrow(() => names({ enable: ['ValidatingAdmissionWebhook'] }))
})

test('a plugin is asked about its own resources and operations only', async () => {
  const asked: string[] = []
  const plugin = (name: string, resources: string[] | undefined, operations: AdmissionPlugin['operations']): AdmissionPlugin => ({
    name,
    operations,
    ...defined({ resources }),
    mutate: () => void asked.push(`${name} mutates`),
    async validate() {
      asked.push(`${name} validates`)
    },
  })
  const chain = new AdmissionChain([
    plugin('everything', undefined, ['CREATE', 'UPDATE']),
    plugin('pods', ['pods'], ['CREATE']),
    plugin('all of pods', ['pods/*'], ['CREATE', 'UPDATE']),
    plugin('resizes', ['pods/resize'], ['UPDATE']),
    plugin('deployments', ['deployments.apps'], ['CREATE', 'UPDATE']),
  ])
  const askedAbout = async (...[resource, options]: Parameters<typeof requestFor>) => {
    asked.length = 0
    await chain.mutate(requestFor(resource, options))
    return asked.map((line) => line.replace(' mutates', ''))
  }
  assert.deepEqual(await askedAbout('pods', { object: aPod() }), ['everything', 'pods', 'all of pods'])
  assert.deepEqual(await askedAbout('pods', { object: aPod(), oldObject: aPod() }), ['everything', 'all of pods'])
  const resize = { object: aPod(), oldObject: aPod(), subresource: 'resize' }
  assert.deepEqual(await askedAbout('pods', resize), ['everything', 'all of pods', 'resizes'])
  assert.deepEqual(await askedAbout('deployments.apps', { object: {} }), ['everything', 'deployments'])
  asked.length = 0
  await chain.validate(requestFor('deployments.apps', { object: {} }))
  assert.deepEqual(asked, ['everything validates', 'deployments validates'])
})

test('configurations of plugins stand in the file, or in files of their own', async () => {
  const file = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [
      { name: 'EventRateLimit', path: 'events.yaml' },
      { name: 'ResourceQuota', configuration: { limitedResources: [] } },
    ],
  }
  const configurations = await readAdmissionConfiguration(file, async (path) => ({ from: path }))
  assert.deepEqual(Object.fromEntries(configurations), { EventRateLimit: { from: 'events.yaml' }, ResourceQuota: { limitedResources: [] } })
  await assert.rejects(
    readAdmissionConfiguration({ kind: 'Pod' }, async () => ({})),
    /expected an AdmissionConfiguration/,
  )
})
