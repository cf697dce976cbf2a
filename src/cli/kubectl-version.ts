import { thisProcess } from '#base/machine.ts'

/** The kubectl whose behaviour this is. */
export const kubectlVersion = 'v1.36.4'

/** The kustomize whose builds ours equal. */
export const kustomizeVersion = 'v5.8.1'

/** What `/version` of a server tells, and `kubectl version` of itself. */
export type VersionInfo = Readonly<Record<string, string | undefined>>

export function clientVersion() {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(kubectlVersion) ?? []
  return {
    major,
    minor,
    gitVersion: kubectlVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: `node-${thisProcess.nodeVersion}`,
    platform: thisProcess.platform,
  }
}
