/** `helmCharts`: manifests that the user's own helm makes of charts. Only where `--enable-helm` says so, since it runs a program. */
import { isAbsolute, join, resolve } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import type { HelmChart, HelmGlobals } from './kustomization.ts'

export type HelmOptions = { isEnabled: boolean; command: string; kubeVersion: string; apiVersions: readonly string[]; isDebug: boolean }

export async function chartManifests(
  host: Host,
  directory: string,
  chart: HelmChart,
  globals: HelmGlobals,
  options: HelmOptions,
): Promise<string> {
  if (!options.isEnabled)
    throw new CliError(
      `trouble configuring builtin HelmChartInflationGenerator with config: \`\n${yamlText(chart)}\`: must specify --enable-helm`,
    )
  const home = globals.chartHome ?? 'charts'
  const charts = isAbsolute(home) ? home : resolve(directory, home)
  const chartDirectory = chart.version !== undefined && chart.repo !== undefined ? join(charts, `${chart.name}-${chart.version}`) : charts
  const scratch = await host.files.temporaryDirectory('kustomize-helm-')
  const helm = async (args: string[]): Promise<string> => {
    const environment = {
      HELM_CONFIG_HOME: join(scratch, '.config'),
      HELM_CACHE_HOME: join(scratch, '.cache'),
      HELM_DATA_HOME: join(scratch, '.data'),
    }
    const { exitCode, stdout, stderr } = await host.processes.run(options.command, args, { environment }).catch(() => {
      throw new CliError(`unable to run: '${options.command} ${args.join(' ')}': is helm installed?`)
    })
    if (exitCode !== 0)
      throw new CliError(
        `unable to run: '${options.command} ${args.join(' ')}' (is '${options.command}' installed?): exit status ${exitCode}: ${stderr.trim()}`,
      )
    return stdout
  }
  try {
    const local = [join(charts, chart.name), join(chartDirectory, chart.name)]
    let place: string | undefined
    for (const each of local) if ((await host.files.statTarget(each))?.kind === 'directory') place ??= each
    if (place === undefined) {
      if (chart.repo === undefined) throw new CliError(`no repo specified for pull, no chart found at '${local[0]}'`)
      await helm(pullArguments(chart, chartDirectory))
      place = join(chartDirectory, chart.name)
    }
    const values = await valuesFile(host, directory, scratch, place, chart)
    return await helm(templateArguments(chart, place, values, directory, options))
  } finally {
    await host.files.remove(scratch)
  }
}

function pullArguments({ name, repo = '', version, devel = false }: HelmChart, charts: string): string[] {
  return [
    'pull',
    '--untar',
    '--untardir',
    charts,
    ...(repo.startsWith('oci://') ? [`${repo.replace(/\/$/, '')}/${name}`] : ['--repo', repo, name]),
    ...(version === undefined ? [] : ['--version', version]),
    ...(devel ? ['--devel'] : []),
  ]
}

function templateArguments(chart: HelmChart, place: string, values: string, directory: string, options: HelmOptions): string[] {
  const further = (chart.additionalValuesFiles ?? []).flatMap((file) => ['-f', resolve(directory, file)])
  const kubeVersion = chart.kubeVersion || options.kubeVersion
  return [
    'template',
    chart.releaseName || '--generate-name',
    place,
    ...(chart.namespace ? ['--namespace', chart.namespace] : []),
    ...(chart.nameTemplate ? ['--name-template', chart.nameTemplate] : []),
    '-f',
    values,
    ...further,
    ...[...(chart.apiVersions ?? []), ...options.apiVersions].flatMap((version) => ['--api-versions', version]),
    ...(kubeVersion ? ['--kube-version', kubeVersion] : []),
    ...(chart.includeCRDs ? ['--include-crds'] : []),
    ...(chart.skipTests ? ['--skip-tests'] : []),
    ...(chart.skipHooks ? ['--no-hooks'] : []),
    ...(chart.debug || options.isDebug ? ['--debug'] : []),
  ]
}

/** The chart's own values, or those of the user, with what the kustomization says laid over, under or instead. */
async function valuesFile(host: Host, directory: string, scratch: string, place: string, chart: HelmChart): Promise<string> {
  const given = chart.valuesFile === undefined ? join(place, 'values.yaml') : resolve(directory, chart.valuesFile)
  if (chart.valuesInline === undefined) return given
  const { readYamlValues } = await import('#api/codec/yaml-reader.ts')
  const { applyPatch } = await import('#api/meta/patch/apply-patch.ts')
  const text = await host.files.readTextIfPresent(given)
  const values = (text === undefined ? {} : (readYamlValues(text)[0]?.value ?? {})) as Record<string, unknown>
  const inline = chart.valuesInline
  const merged =
    chart.valuesMerge === 'replace'
      ? inline
      : chart.valuesMerge === 'merge'
        ? applyPatch('merge', inline, values)
        : applyPatch('merge', values, inline)
  const path = join(scratch, `${chart.name}-kustomize-values.yaml`)
  await host.files.write(path, yamlText(merged))
  return path
}
