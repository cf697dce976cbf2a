import { Namespace, Node, Pod, Service, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { Kind } from '#api/kind.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { thisProcess } from '#base/machine.ts'
import type { Client } from '#client/client.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { type ClusterObjects, type ConnectionExplanation, explainConnection } from '#cmd/explain/explain-connection.ts'
import { parseConnection } from '#cmd/explain/parse-connection.ts'
import { compileCalicoPolicy, compileGlobalPolicy } from '#network/calico/compile-calico-policy.ts'
import { CalicoNetworkPolicy, GlobalNetworkPolicy } from '#network/calico/definitions.ts'
import type { CompiledPolicy } from '#network/policy/compiled-policy.ts'

type ExplainOptions = { kubeconfig: string; namespace: string; protocol: string; output: string }

/** Reads the cluster as it is now; sends no packet. Ends with 1 where the connection would not work. */
export async function explainToUser(words: readonly string[], options: ExplainOptions): Promise<void> {
  const asked = parseConnection(words, options.namespace, options.protocol)
  using client = await openClient({ kubeconfig: options.kubeconfig })
  const explanation = explainConnection(asked, await readCluster(client))
  thisProcess.print(options.output === 'json' ? JSON.stringify(explanation, undefined, 2) : explanationText(explanation))
  if (explanation.works === 'no') thisProcess.setExitCode(1)
}

async function readCluster(client: Client): Promise<ClusterObjects> {
  const [services, slices, pods, namespaces, policies, nodes] = await Promise.all([
    client.list(Service),
    client.list(EndpointSlice),
    client.list(Pod),
    client.list(Namespace),
    client.list(NetworkPolicy),
    client.list(Node),
  ])
  const calicoPolicies = await readCalicoPolicies(client)
  // Only Calico's policies go by accounts.
  const accounts = calicoPolicies.length === 0 ? [] : (await client.list(ServiceAccount)).items
  return {
    ...{ calicoPolicies, accounts },
    ...{ services: services.items, slices: slices.items, pods: pods.items, namespaces: namespaces.items, policies: policies.items },
    nodeLabels: new Map(nodes.items.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}])),
  }
}

/** None where their definitions are not there. */
async function readCalicoPolicies(client: Client): Promise<CompiledPolicy[]> {
  const list = <T extends KubernetesObject>(kind: Kind<T>, compile: (policy: T) => CompiledPolicy) =>
    client.list(kind).then(
      ({ items }) => items.map(compile),
      (error: unknown) => {
        if (isNotFound(error)) return []
        throw error
      },
    )
  const [own, global] = await Promise.all([list(CalicoNetworkPolicy, compileCalicoPolicy), list(GlobalNetworkPolicy, compileGlobalPolicy)])
  return [...own, ...global]
}

const answers: Record<ConnectionExplanation['works'], string> = { yes: 'It works', no: 'It does not work', sometimes: 'It works sometimes' }

function explanationText({ works, because, steps }: ConnectionExplanation): string {
  return [`${answers[works]}: ${because}.`, ...steps.map((step) => `  - ${step}`)].join('\n')
}
