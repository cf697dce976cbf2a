import { nodeFiles } from '#base/files.ts'
import { thisMachine } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import { machineCloud, machineCloudName } from '#cmd/cloud-controller-manager/machine-cloud/machine-cloud.ts'
import { parseMachineCloudConfig } from '#cmd/cloud-controller-manager/machine-cloud/machine-cloud-config.ts'
import { readSettings } from '#cmd/read-settings.ts'
import { machineNodeName } from '#cmd/up/cluster-addresses.ts'
import type { CloudProvider } from '#controllers/cloud/cloud-provider.ts'

type Making = { client: Client; settings: Readonly<Record<string, unknown>> }

/** Every cloud there is, by the name that `--cloud-provider` knows it by. */
const providers: Readonly<Record<string, (making: Making) => CloudProvider>> = {
  [machineCloudName]: ({ client, settings }) =>
    machineCloud({
      config: parseMachineCloudConfig(settings, thisMachine().dataDirectory('typernetes')),
      own: { name: machineNodeName(), addresses: () => thisMachine().addresses() },
      ...{ client, files: nodeFiles, processes: nodeProcesses },
    }),
}

export async function openProvider(name: string, configPath: string, client: Client): Promise<CloudProvider> {
  if (name === '') throw new Error('--cloud-provider cannot be empty')
  const make = providers[name]
  if (make === undefined) {
    const known = Object.keys(providers).join(', ')
    throw new Error(`cloud provider could not be initialized: unknown cloud provider "${name}"; known are: ${known}`)
  }
  return make({ client, settings: configPath === '' ? {} : await readSettings(configPath, '--cloud-config') })
}
