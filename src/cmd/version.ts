import { thisProcess } from '#base/machine.ts'
import type { Command } from '#base/options.ts'

/** The version of this program. Kept equal to package.json by a test. */
export const version = '0.1.0'

/** The version of Kubernetes whose API and behaviour this is. */
export const kubernetesVersion = 'v1.36.4'

/** What `/version` answers: clients look at major, minor and gitVersion. */
export function kubernetesVersionInfo(): Record<string, string> {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion) ?? []
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `${kubernetesVersion}+typernetes-${version}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: `node-${thisProcess.nodeVersion}`,
    platform: thisProcess.platform,
  }
}

export function versionText(): string {
  return `typernetes ${version} (Kubernetes ${kubernetesVersion}, Node.js ${thisProcess.nodeVersion})`
}

export function versionCommand(command: Command): void {
  command.action(() => thisProcess.print(versionText()))
}
