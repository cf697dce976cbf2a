/** Clusters of one user by name: each has a directory of its own, and the one without a name is `default`. */
import { join, resolve } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { thisMachine } from '#base/machine.ts'
import type { Command } from '#base/options.ts'

const defaultClusterName = 'default'

const home = (): string => thisMachine().dataDirectory('typernetes')
const named = (): string => join(home(), 'clusters')

/** As it stands in a path and in a context of a kubeconfig. */
function mustBeName(name: string): void {
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(name)) {
    throw new Error(`${name} is not a valid name for a cluster: small letters, digits and hyphens, at most 40`)
  }
}

export function directoryOfCluster(name: string): string {
  mustBeName(name)
  return name === defaultClusterName ? home() : join(named(), name)
}

/** The name of the cluster in a directory; undefined for one that was chosen by its path. */
function nameOfCluster(dataDir: string): string | undefined {
  const path = resolve(dataDir)
  if (path === resolve(home())) return defaultClusterName
  return resolve(path, '..') === resolve(named()) ? path.slice(resolve(named()).length + 1) : undefined
}

/** What its context is called in kubeconfigs. */
export function contextOfCluster(dataDir: string): string {
  const name = nameOfCluster(dataDir)
  return name === undefined || name === defaultClusterName ? 'typernetes' : `typernetes-${name}`
}

/** Those that have been started and not deleted. */
export async function clusterNames(): Promise<string[]> {
  const hasCluster = async (directory: string) => (await nodeFiles.stat(join(directory, 'pki'))) !== undefined
  const others = await nodeFiles.list(named())
  const found = await Promise.all(
    [defaultClusterName, ...others.filter((name) => name !== defaultClusterName)].map(async (name) => ({
      name,
      isThere: await hasCluster(name === defaultClusterName ? home() : join(named(), name)),
    })),
  )
  return found.filter(({ isThere }) => isThere).map(({ name }) => name)
}

/** Takes a cluster by its name, in place of its directory. */
export function addClusterName(command: Command): void {
  command.argument('[name]', 'the cluster, by its name', (name: string) => {
    if (command.getOptionValueSource('dataDir') === 'cli') throw new Error('give the name of a cluster or --data-dir, not both')
    command.setOptionValueWithSource('dataDir', directoryOfCluster(name), 'cli')
    return name
  })
}
