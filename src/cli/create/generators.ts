/** `kubectl create KIND NAME …`: which flags make which object. */
import { defined } from '#base/defined.ts'
import type { Run } from '#cli/call.ts'
import { createGenerated, type GeneratorOptions } from './create-object.ts'

type Load = () => Promise<GeneratorOptions['generate']>

const generator =
  (
    plural: string,
    load: Load,
    { isClusterWide = false, failure }: { isClusterWide?: boolean; failure?: string } = {},
  ): (() => Promise<Run>) =>
  async () => {
    const generate = await load()
    return (call) => createGenerated(call, { generate, plural, isClusterWide, ...defined({ failure }) })
  }

const configuration = () => import('./configuration.ts')
const access = () => import('./access.ts')
const workloads = () => import('./workloads.ts')
const networking = () => import('./networking.ts')
const policies = () => import('./policies.ts')

/** By the path of the command. */
export const generators: Readonly<Record<string, () => Promise<Run>>> = {
  'create configmap': generator('configmaps', async () => (await configuration()).configMap, { failure: 'failed to create configmap: ' }),
  'create secret generic': generator('secrets', async () => (await configuration()).genericSecret, { failure: 'failed to create secret ' }),
  'create secret tls': generator('secrets', async () => (await configuration()).tlsSecret, { failure: 'failed to create secret ' }),
  'create secret docker-registry': generator('secrets', async () => (await configuration()).registrySecret, {
    failure: 'failed to create secret ',
  }),
  'create role': generator('roles', async () => (await access()).role),
  'create clusterrole': generator('clusterroles', async () => (await access()).clusterRole, { isClusterWide: true }),
  'create rolebinding': generator('rolebindings', async () => (await access()).roleBinding, { failure: 'failed to create rolebinding: ' }),
  'create clusterrolebinding': generator('clusterrolebindings', async () => (await access()).clusterRoleBinding, {
    isClusterWide: true,
    failure: 'failed to create clusterrolebinding: ',
  }),
  'create serviceaccount': generator('serviceaccounts', async () => (await access()).serviceAccount, {
    failure: 'failed to create serviceaccount: ',
  }),
  'create deployment': generator('deployments', async () => (await workloads()).deployment, { failure: 'failed to create deployment: ' }),
  'create job': generator('jobs', async () => (await workloads()).job, { failure: 'failed to create job: ' }),
  'create cronjob': generator('cronjobs', async () => (await workloads()).cronJob, { failure: 'failed to create cronjob: ' }),
  'create ingress': generator('ingresses', async () => (await networking()).ingress, { failure: 'failed to create ingress: ' }),
  'create service clusterip': generator('services', async () => (await networking()).serviceOfType('ClusterIP'), {
    failure: 'failed to create ClusterIP service: ',
  }),
  'create service nodeport': generator('services', async () => (await networking()).serviceOfType('NodePort'), {
    failure: 'failed to create NodePort service: ',
  }),
  'create service loadbalancer': generator('services', async () => (await networking()).serviceOfType('LoadBalancer'), {
    failure: 'failed to create LoadBalancer service: ',
  }),
  'create service externalname': generator('services', async () => (await networking()).serviceOfType('ExternalName'), {
    failure: 'failed to create ExternalName service: ',
  }),
  'create namespace': generator('namespaces', async () => (await policies()).namespace, { isClusterWide: true }),
  'create quota': generator('resourcequotas', async () => (await policies()).quota, { failure: 'failed to create quota: ' }),
  'create priorityclass': generator('priorityclasses', async () => (await policies()).priorityClass, {
    isClusterWide: true,
    failure: 'failed to create priorityclass: ',
  }),
  'create poddisruptionbudget': generator('poddisruptionbudgets', async () => (await policies()).disruptionBudget, {
    failure: 'failed to create poddisruptionbudgets: ',
  }),
}
