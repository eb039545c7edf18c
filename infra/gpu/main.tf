terraform {
  required_version = ">= 1.6"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

# It may read its key, and nothing else of the project.
resource "google_service_account" "ranklet" {
  account_id   = "ranklet-gpu"
  display_name = "ranklet on Cloud Run with a GPU"
}

resource "google_secret_manager_secret_iam_member" "key" {
  secret_id = var.api_key_secret
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.ranklet.email}"
}

resource "google_cloud_run_v2_service" "ranklet" {
  name                = "ranklet-gpu"
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = false

  template {
    service_account                  = google_service_account.ranklet.email
    timeout                          = "60s"
    max_instance_request_concurrency = 16
    gpu_zonal_redundancy_disabled    = true

    node_selector {
      accelerator = "nvidia-l4"
    }

    scaling {
      min_instance_count = 0
      max_instance_count = var.max_instances
    }

    containers {
      image = var.image

      ports {
        container_port = 8080
      }

      resources {
        limits = {
          cpu              = "4"
          memory           = "16Gi"
          "nvidia.com/gpu" = "1"
        }
        cpu_idle          = false # a GPU is billed by instance
        startup_cpu_boost = true
      }

      env {
        name  = "GOOGLE_CLOUD_PROJECT"
        value = var.project
      }

      env {
        name = "RANKLET_API_KEY"
        value_source {
          secret_key_ref {
            secret  = var.api_key_secret
            version = "latest"
          }
        }
      }

      startup_probe {
        period_seconds    = 2
        timeout_seconds   = 2
        failure_threshold = 60
        http_get {
          path = "/readyz"
        }
      }

      liveness_probe {
        period_seconds    = 10
        timeout_seconds   = 2
        failure_threshold = 3
        http_get {
          path = "/healthz"
        }
      }
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.key]
}

resource "google_cloud_run_v2_service_iam_member" "public" {
  count    = var.public ? 1 : 0
  name     = google_cloud_run_v2_service.ranklet.name
  location = var.region
  role     = "roles/run.invoker"
  member   = "allUsers"
}

output "url" {
  description = "Where it answers."
  value       = google_cloud_run_v2_service.ranklet.uri
}
