/** `typernetes addons`: what `up` has beside the components of Kubernetes, alone, against any API server of a cluster with nodes. */
import { addOptions, type Command, defineOptions, optionValues, text, wholeNumber } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { upOptions } from '#cmd/up/options.ts'

/** Those of `up` that it takes. */
export const addonsShared = defineOptions({
  listen: { ...upOptions.listen, help: 'serve on this address of the machine, by which pods and other machines reach it' },
  ...{ dns: upOptions.dns, metricsServer: upOptions.metricsServer, addonsDir: upOptions.addonsDir },
  ...{ ingress: upOptions.ingress, ingressListen: upOptions.ingressListen, ingressThreads: upOptions.ingressThreads },
  ...{ ingressHttpPort: upOptions.ingressHttpPort, ingressHttpsPort: upOptions.ingressHttpsPort },
  ...{ ingressMetricsPort: upOptions.ingressMetricsPort, loadBalancerPool: upOptions.loadBalancerPool },
  ...{ serviceClusterIpRange: upOptions.serviceClusterIpRange, clusterCidr: upOptions.clusterCidr },
})

export const addonsOptions = defineOptions({
  kubeconfig: text('how the API server is reached, as the user typernetes:addons, or somebody who may do more', {
    ...{ placeholder: 'FILE', default: '' },
  }),
  addonsKubeconfig: text('as whom manifests of --addons-dir are applied, which may be anything', {
    ...{ placeholder: 'FILE', default: '', defaultText: 'as by --kubeconfig' },
  }),
  ...addonsShared,
  metricsPort: wholeNumber('serve metrics.k8s.io to the API server on this port', { default: 4443 }),
  bindAddress: text('serve health and metrics on this address', { placeholder: 'ADDR', default: '127.0.0.1' }),
  securePort: wholeNumber('serve health and metrics on this port; 0 does not', { default: 10_261 }),
  ...logOptions,
})

export function addonsCommand(command: Command): void {
  addOptions(command, addonsOptions)
  command.action(async () => {
    const { runAddons } = await import('#cmd/addons/addons.ts')
    await runAddons(optionValues(command, addonsOptions))
  })
}
