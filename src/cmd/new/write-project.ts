import { dirname, join, resolve } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { apiServerProject } from '#cmd/new/apiserver-project.ts'
import { operatorProject } from '#cmd/new/operator-project.ts'
import type { Project, ProjectNames } from '#cmd/new/project.ts'
import { sharedFiles } from '#cmd/new/shared-files.ts'
import { webhookProject } from '#cmd/new/webhook-project.ts'

const projects: Readonly<Record<string, (names: ProjectNames) => Project>> = {
  operator: operatorProject,
  apiserver: apiServerProject,
  webhook: webhookProject,
}

export type NewProject = { kind: 'operator' | 'apiserver' | 'webhook'; name: string; group: string; directory: string }

/** Never writes over what is there. */
export async function writeProject({ kind, name, group, directory }: NewProject): Promise<void> {
  if (!/^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$/.test(name)) {
    throw new Error(`${name} is not a valid name for a project: small letters, digits and - only, a letter first, at most 50 of them`)
  }
  if (['main', 'controller', 'server', 'webhooks'].includes(name))
    throw new Error(`${name} is a file of every project; choose another name`)
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(group)) {
    throw new Error(`${group} is not a valid API group: a domain such as example.com`)
  }
  const target = resolve(directory || name)
  if ((await nodeFiles.list(target)).length > 0) throw new Error(`${target} is there already, and not empty`)
  const names: ProjectNames = { name, group, kind: pascalCase(name), singular: name.replaceAll('-', '') }
  const project = projects[kind]?.(names) ?? { summary: '', files: {} }
  for (const [path, content] of Object.entries({ ...sharedFiles(names, project), ...project.files })) {
    await nodeFiles.makeDirectory(dirname(join(target, path)), { mode: 0o755 })
    await nodeFiles.write(join(target, path), content, { mode: 0o644 })
  }
  thisProcess.print(`Wrote ${target}. Next:\n\n  cd ${directory || name}\n  npm install\n  npm test`)
}

const pascalCase = (name: string): string => name.replace(/(?:^|-)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase())
