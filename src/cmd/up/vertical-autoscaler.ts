import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { startVerticalAutoscaler as start } from '#controllers/vertical-pod-autoscaler/start-vertical-autoscaler.ts'

/** Resolves when its kinds are served and looked after. */
export async function startVerticalAutoscaler(stage: Stage, apiServer: RunningApiServer, seams: ClusterSeams): Promise<void> {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system']
  const client = clientInProcess(apiServer, 'system:serviceaccount:kube-system:vpa-recommender', groups)
  await start(stage, { ...seams, client, signal: stage.signal })
}
