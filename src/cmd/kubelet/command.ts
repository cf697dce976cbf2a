/** `typernetes kubelet`: a kubelet alone, against any API server. */

import { addOptions, type Command, defineOptions, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { configurationFlags, configurationOfFlags, kubeletFlagsWithoutEffect } from '#cmd/kubelet/configuration-flags.ts'
import { logOptions } from '#cmd/log-options.ts'
import { usualDockerEndpoint } from '#cmd/runtime/docker-endpoint.ts'
import { sayWithoutEffect } from '#cmd/without-effect.ts'

const fromFile = { defaultText: "the file's" }

/** Upstream's names. What the configuration file can say too has no default of its own here. */
export const kubeletOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '' }),
  bootstrapKubeconfig: text('where there is no --kubeconfig yet: ask for a certificate as this one says, and write it', {
    placeholder: 'FILE',
    default: '',
  }),
  configDir: text('lay the files *.conf of this directory over --config, one after the other', { placeholder: 'DIR', default: '' }),
  rotateCertificates: onOff('have the client certificate renewed in time', { default: false, ...fromFile }),
  hostnameOverride: text("the node's name", { placeholder: 'NAME', default: '', defaultText: "the machine's" }),
  nodeIp: list("the node's addresses, at most one of each family", { placeholder: 'ADDRESSES', default: [] }),
  nodeLabels: list('labels for the node when it registers (a=b,…)', { default: [] }),
  registerNode: onOff('make the node in the API', { default: true, ...fromFile }),
  registerWithTaints: list('taints for the node when it registers (key=value:effect,…)', { default: [] }),
  cloudProvider: text('external: a cloud controller manager says what the machine is, and pods come after that', {
    default: '',
    choices: ['', 'external'],
  }),
  providerId: text('how the cloud knows the machine', { placeholder: 'ID', default: '', ...fromFile }),
  rootDir: text('where pods have their files', { placeholder: 'DIR', default: '/var/lib/kubelet' }),
  certDir: text('where a serving certificate is kept if none is given', { placeholder: 'DIR', default: '', defaultText: 'ROOT-DIR/pki' }),
  containerRuntimeEndpoint: text('the container runtime (unix:///…)', { placeholder: 'URL', default: '', ...fromFile }),
  containerRuntime: text('docker: use the Docker of this machine; remote: that of --container-runtime-endpoint', {
    ...{ placeholder: 'KIND', default: 'remote', choices: ['docker', 'remote'] },
  }),
  dockerEndpoint: text('the Docker that --container-runtime=docker uses', { placeholder: 'URL', default: usualDockerEndpoint }),
  podInfraContainerImage: text("what pods' sandboxes are made of in Docker", { placeholder: 'IMAGE', default: '', defaultText: 'our own' }),
  cniConfDir: text('where configurations of the pod network lie, with Docker', { placeholder: 'DIR', default: '/etc/cni/net.d' }),
  cniBinDir: text('where network plugins lie, with Docker', { placeholder: 'DIR', default: '/opt/cni/bin' }),
  imageCredentialProviderConfig: text('programs that know credentials for registries: a CredentialProviderConfig, or a directory of them', {
    placeholder: 'FILE',
    default: '',
  }),
  imageCredentialProviderBinDir: text('where these programs are', { placeholder: 'DIR', default: '' }),
  podManifestPath: text('run the pods whose files lie in this directory', { placeholder: 'DIR', default: '', ...fromFile }),
  manifestUrl: text('run the pods that this URL gives', { placeholder: 'URL', default: '', ...fromFile }),
  clusterDns: list('name servers for pods', { default: [], ...fromFile }),
  clusterDomain: text('the domain of the cluster', { placeholder: 'DOMAIN', default: '', ...fromFile }),
  resolvConf: text('where pods with the node’s own DNS get it from', { placeholder: 'FILE', default: '', ...fromFile }),
  maxPods: wholeNumber('how many pods the node takes', { default: 110, ...fromFile }),
  address: text('serve on this address', { placeholder: 'ADDR', default: '0.0.0.0', ...fromFile }),
  port: wholeNumber('serve on this port', { default: 10_250, ...fromFile }),
  readOnlyPort: wholeNumber('also serve to anybody on this port; 0 does not', { default: 0, ...fromFile }),
  healthzPort: wholeNumber('say on this port of the loopback that all is well; 0 does not', { default: 10_248, ...fromFile }),
  cadvisorPort: wholeNumber("also serve cAdvisor's own API to anybody on this port (4194 of old); 0 does not", { default: 0 }),
  tlsCertFile: text('the certificate to serve with', { placeholder: 'FILE', default: '', ...fromFile }),
  tlsPrivateKeyFile: text('the private key of that certificate', { placeholder: 'FILE', default: '', ...fromFile }),
  clientCaFile: text('believe client certificates of this authority', { placeholder: 'FILE', default: '', ...fromFile }),
  anonymousAuth: onOff('let those in who say nothing of themselves', { default: false, ...fromFile }),
  authenticationTokenWebhook: onOff('ask the API server about tokens', { default: true, ...fromFile }),
  authorizationMode: text('who may do what', { default: 'Webhook', choices: ['AlwaysAllow', 'Webhook'], ...fromFile }),
  cgroupRoot: text('make the cgroups of pods below this one', { placeholder: 'CGROUP', default: '', ...fromFile }),
  failSwapOn: onOff('do not start on a machine that swaps', { default: true, ...fromFile }),
  dynamicConfigDir: text("follow spec.configSource of the node's object, and keep in this directory what it names", {
    placeholder: 'DIR',
    default: '',
  }),
  bootstrapCheckpointPath: text('keep pods that ask for it in this directory, and run them before the API server answers', {
    placeholder: 'DIR',
    default: '',
  }),
  nodeProblemPlugins: list('files that name plugins which look for problems of the machine (node-problem-detector’s custom plugins)', {
    placeholder: 'FILES',
    default: [],
  }),
  runonce: onOff('run the static pods, and exit once they run', { default: false, ...fromFile }),
  seccompDefault: onOff("give pods the runtime's seccomp profile unless they say otherwise", { default: false, ...fromFile }),
  ...logOptions,
})

export function kubeletCommand(command: Command): void {
  addOptions(command, { ...configurationFlags, ...kubeletFlagsWithoutEffect, ...kubeletOptions }, { hasOwnConfig: true })
  command.action(async () => {
    const { config } = command.opts()
    const wasGiven = (key: string) => command.getOptionValueSource(key) !== 'default'
    const options = optionValues(command, kubeletOptions)
    const [{ runKubeletCommand }, { loggerOf }] = await Promise.all([import('#cmd/kubelet/kubelet.ts'), import('#cmd/logger-of.ts')])
    sayWithoutEffect(command, kubeletFlagsWithoutEffect, loggerOf(options).with({ component: 'kubelet' }))
    const ofFlags = configurationOfFlags(optionValues(command, configurationFlags), wasGiven)
    await runKubeletCommand(options, { path: typeof config === 'string' ? config : undefined, ofFlags }, wasGiven)
  })
}
