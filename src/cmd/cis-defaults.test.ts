/** What docs/security.md says of settings beside the items of the CIS benchmark, as far as a default decides it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { admissionPlugins, onlyPlugins } from '#apiserver/admission/plugins.ts'
import { controllerManagerOptions } from '#cmd/controller-manager/flags.ts'
import { kubeletOptions } from '#cmd/kubelet/command.ts'
import { upOptions } from '#cmd/up/options.ts'
import { defaultKubeletConfiguration, ignoredFields, sharedMachineConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { readKubeletConfiguration } from '#kubelet/configuration/read-configuration.ts'
import { defaultProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'

test('1.1.12, 1.2.1–1.2.2: nobody listens beyond the loopback address, no static tokens, no port without TLS', () => {
  assert.equal(upOptions.listen.default, '127.0.0.1')
  assert.deepEqual([upOptions.token.default, upOptions.tokenAuthFile.default, upOptions.basicAuthFile.default], ['', '', ''])
  assert.equal(upOptions.insecurePort.default, 0)
})

test('1.2.3, 1.2.9–1.2.14: the admission plugins that run, and those that may be enabled', () => {
  // Whoever wants none has to turn off those that run by default.
  const running = [...onlyPlugins([]).disable, ...upOptions.enableAdmissionPlugins.default]
  for (const name of ['ServiceAccount', 'NamespaceLifecycle', 'NodeRestriction', 'PodSecurity']) assert.ok(running.includes(name), name)
  assert.ok(!running.includes('AlwaysAdmit'))
  const known = ['DenyServiceExternalIPs', 'EventRateLimit', 'AlwaysPullImages', 'ImagePolicyWebhook']
  assert.throws(
    () => admissionPlugins({ enable: [...known, 'NoSuchPlugin'], disable: [] }, {} as never),
    /there is no plugin "NoSuchPlugin";/,
  )
})

test('1.2.6–1.2.8: nodes and RBAC decide what users may do', () => {
  assert.deepEqual(upOptions.authorizationMode.default, ['Node', 'RBAC'])
})

test('1.2.16–1.2.20: audit logs have a path, an age, a number and a size to be set, and requests a time', () => {
  assert.deepEqual(
    [
      upOptions.auditLogPath.default,
      upOptions.auditLogMaxage.default,
      upOptions.auditLogMaxbackup.default,
      upOptions.auditLogMaxsize.default,
    ],
    ['', 0, 0, 0],
  )
  assert.equal(upOptions.requestTimeout.default, 60_000)
})

test('1.2.30: tokens of pods that do not take new ones live longer, as upstream has it', () => {
  assert.equal(upOptions.serviceAccountExtendTokenExpiration.default, true)
})

test('1.3.1, 1.3.6, 1.3.7: finished pods are collected, kubelet certificates rotate, nothing is served to others', () => {
  assert.equal(controllerManagerOptions.terminatedPodGcThreshold.default, 12_500)
  assert.equal(controllerManagerOptions.bindAddress.default, '127.0.0.1')
  assert.equal(new FeatureGates().isEnabled('RotateKubeletServerCertificate'), true)
})

test('2: the store is served as etcd only where that is asked for', () => {
  assert.equal(upOptions.etcdListen.default, '')
})

test('4.2: kubelets know whom they answer, and serve nobody else', () => {
  const { authentication, authorization, readOnlyPort, healthzBindAddress } = defaultKubeletConfiguration()
  assert.equal(authentication.anonymous.enabled, false)
  assert.equal(authentication.webhook.enabled, true)
  assert.equal(authorization.mode, 'Webhook')
  assert.equal(readOnlyPort, 0)
  assert.equal(healthzBindAddress, '127.0.0.1')
  assert.equal(sharedMachineConfiguration.podPidsLimit, 8192)
})

test('4.2.5, 4.2.8: streams that are idle end, and events are limited', () => {
  const { streamingConnectionIdleTimeout, eventRecordQPS } = defaultKubeletConfiguration()
  assert.equal(streamingConnectionIdleTimeout, '4h0m0s')
  assert.equal(eventRecordQPS, 50)
})

test('4.2.6, 4.2.7: kubelets have no chains of iptables to make, and keep the name of their machine', () => {
  assert.ok(ignoredFields.includes('makeIPTablesUtilChains'))
  assert.equal(kubeletOptions.hostnameOverride.default, '')
})

test("4.2.15: pods get the runtime's seccomp profile where a file or a flag says so", async () => {
  assert.equal(kubeletOptions.seccompDefault.default, false)
  const text = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nseccompDefault: true\n'
  const { configuration, ignored } = await readKubeletConfiguration(text, 'file')
  assert.deepEqual([configuration.seccompDefault, ignored], [true, []])
})

test('4.3.1: metrics of the proxy are for the machine itself', () => {
  assert.equal(defaultProxyConfiguration().metricsBindAddress, '127.0.0.1:10249')
})
